// The compiled half of spdlog 1.10 with its console and file sinks, for Debian has no static one.
// Header-only, it costs each file that includes it 6 s; so it costs under 1 s.
#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/file_helper-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/details/periodic_worker-inl.h>
#include <spdlog/details/registry-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/basic_file_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>
#include <spdlog/sinks/stdout_color_sinks-inl.h>
#include <spdlog/sinks/stdout_sinks-inl.h>
#include <spdlog/spdlog-inl.h>

#include <memory>
#include <mutex>
#include <string>

namespace spdlog {

template logger::logger(std::string name, sinks_init_list::iterator begin, sinks_init_list::iterator end);

namespace sinks {

template class base_sink<std::mutex>;
template class base_sink<details::null_mutex>;
template class basic_file_sink<std::mutex>;
template class basic_file_sink<details::null_mutex>;

template class stdout_sink_base<details::console_mutex>;
template class stdout_sink_base<details::console_nullmutex>;
template class stdout_sink<details::console_mutex>;
template class stdout_sink<details::console_nullmutex>;
template class stderr_sink<details::console_mutex>;
template class stderr_sink<details::console_nullmutex>;

template class ansicolor_sink<details::console_mutex>;
template class ansicolor_sink<details::console_nullmutex>;
template class ansicolor_stdout_sink<details::console_mutex>;
template class ansicolor_stdout_sink<details::console_nullmutex>;
template class ansicolor_stderr_sink<details::console_mutex>;
template class ansicolor_stderr_sink<details::console_nullmutex>;

}  // namespace sinks

template std::shared_ptr<logger> stdout_logger_mt<synchronous_factory>(const std::string& name);
template std::shared_ptr<logger> stderr_logger_mt<synchronous_factory>(const std::string& name);
template std::shared_ptr<logger> stdout_color_mt<synchronous_factory>(const std::string& name, color_mode mode);
template std::shared_ptr<logger> stderr_color_mt<synchronous_factory>(const std::string& name, color_mode mode);

}  // namespace spdlog
