// A list of types, and what one does with it: walk over it, find a name in it, call for the one at a place.
#ifndef PARTITA_OPS_FUNCTORS_TYPE_LIST_H_
#define PARTITA_OPS_FUNCTORS_TYPE_LIST_H_

#include <string>
#include <vector>

namespace partita {

template <typename... Ts>
struct TypeList {};

template <typename... As, typename... Bs>
TypeList<As..., Bs...> Joined(TypeList<As...>, TypeList<Bs...>);

// TypeList<Wrap<A>, Wrap<B>, ...>.
template <template <typename> typename Wrap, typename... Ts>
TypeList<Wrap<Ts>...> Wrapped(TypeList<Ts...>);

// f.operator()<T>() for every type, in order.
template <typename... Ts, typename F>
void ForEachType(TypeList<Ts...>, const F& f) {
  (f.template operator()<Ts>(), ...);
}

template <typename... Ts>
std::vector<std::string> NamesOf(TypeList<Ts...>) {
  return {Ts::Name()...};
}

// The place of the type of that name; -1: there is none.
template <typename... Ts>
int PlaceOf(TypeList<Ts...>, const std::string& name) {
  int place = 0;
  const bool found = ((name == Ts::Name() || (++place, false)) || ...);
  return found ? place : -1;
}

template <typename T, typename F>
auto CallWithType(const F& f) {
  return f.template operator()<T>();
}

// f.operator()<T>() of the type at `place`, which must exist.
template <typename First, typename... Rest, typename F>
auto AtPlace(TypeList<First, Rest...>, int place, const F& f) {
  using Call = decltype(CallWithType<First, F>(f)) (*)(const F&);
  static constexpr Call kCalls[] = {CallWithType<First, F>, CallWithType<Rest, F>...};
  return kCalls[place](f);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_TYPE_LIST_H_
