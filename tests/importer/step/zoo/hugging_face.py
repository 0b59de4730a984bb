"""Models of transformers, small: their configurations, and the batches that they take. They return their loss."""

import torch

from zoo.case import BATCH, CLASSES, Case, classes, images

LENGTH, WORDS = 24, 97
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
GROUPED = {**SMALL, "num_key_value_heads": 2}
WIDE_HEADS = {**GROUPED, "head_dim": 8}
TEXT = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1}
SEQUENCES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 2}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
PATCHES = {**SMALL, "image_size": 32, "patch_size": 8}
WAVE = {**SMALL, "conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2), "num_feat_extract_layers": 3,
        "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0, "mask_feature_prob": 0.0}


def words(*sizes):
    return torch.randint(3, WORDS, (BATCH, *(sizes or (LENGTH,))))


def padding(length=LENGTH):
    """The second text is shorter."""
    mask = torch.ones(BATCH, length, dtype=torch.long)
    mask[1, length - 5:] = 0
    return mask


def causal():
    return {"input_ids": words(), "labels": words()}


def masked():
    mask, labels = padding(), words()
    labels[mask == 0] = -100
    return {"input_ids": words(), "attention_mask": mask, "labels": labels}


def translated():
    return {"input_ids": words(), "attention_mask": padding(), "labels": words(16)}


def texts():
    return {"input_ids": words(), "attention_mask": padding(), "labels": classes()}


def spans():
    return {"input_ids": words(), "attention_mask": padding(), "start_positions": classes(of=19),
            "end_positions": classes(of=19)}


def pictures(size=32):
    return lambda: {"pixel_values": images(size), "labels": classes()}


def maps(size=64):
    return lambda: {"pixel_values": images(size), "labels": classes(size, size)}


def waves():
    return {"input_values": torch.randn(BATCH, 2000), "labels": classes()}


def both(size=32):
    return lambda: {"input_ids": torch.cat([words(LENGTH - 1), torch.ones(BATCH, 1, dtype=torch.long)], 1),
                    "pixel_values": images(size)}


def series(length=32, channels=3, ahead=8):
    return lambda: {"past_values": torch.randn(BATCH, length, channels),
                    "future_values": torch.randn(BATCH, ahead, channels)}


# The model, its configuration's class, its batch, its configuration. Where the family is not in its classes' names:
# the two are written out.
CAUSAL = {
    "bloom": ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "codegen": ("CodeGen", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 64, "n_ctx": 64}),
    "cohere": ("Cohere", GROUPED),
    "falcon": ("Falcon", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "falcon_mamba": ("FalconMamba", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}),
    "gemma": ("Gemma", WIDE_HEADS),
    "gemma2": ("Gemma2", {**WIDE_HEADS, "query_pre_attn_scalar": 8, "sliding_window": 8}),
    "glm": ("Glm", {**WIDE_HEADS, "partial_rotary_factor": 0.5}),
    "gpt_bigcode": ("GPTBigCode", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    "gpt_neox": ("GPTNeoX", SMALL),
    "gptj": ("GPTJ", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "granite": ("Granite", GROUPED),
    "helium": ("Helium", WIDE_HEADS),
    "llama": ("Llama", GROUPED),
    "mamba": ("Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}),
    "mamba2": ("Mamba2", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "num_heads": 8, "head_dim": 8,
                          "n_groups": 2, "chunk_size": 8}),
    "mistral": ("Mistral", {**GROUPED, "sliding_window": 8}),
    "mixtral": ("Mixtral", {**GROUPED, "num_local_experts": 4}),
    "mpt": ("Mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    "nemotron": ("Nemotron", GROUPED),
    "olmo": ("Olmo", GROUPED),
    "olmo2": ("Olmo2", GROUPED),
    "opt": ("OPT", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64,
                    "word_embed_proj_dim": 32}),
    "persimmon": ("Persimmon", SMALL),
    "phi": ("Phi", GROUPED),
    "phi3": ("Phi3", GROUPED),
    "qwen2": ("Qwen2", GROUPED),
    "qwen3": ("Qwen3", WIDE_HEADS),
    "qwen3_moe": ("Qwen3Moe", {**WIDE_HEADS, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}),
    "smollm3": ("SmolLM3", GROUPED),
    "stablelm": ("StableLm", GROUPED),
    "starcoder2": ("Starcoder2", GROUPED),
}
MASKED = {
    "albert": ("Albert", {**SMALL, "embedding_size": 16}),
    "bert": ("Bert", SMALL),
    "big_bird": ("BigBird", {**SMALL, "attention_type": "original_full"}),
    "camembert": ("Camembert", SMALL),
    "convbert": ("ConvBert", {**SMALL, "embedding_size": 32}),
    "deberta": ("Deberta", {**SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                            "max_relative_positions": 16}),
    "deberta_v2": ("DebertaV2", {**SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                                 "position_buckets": 8, "share_att_key": True}),
    "distilbert": ("DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "electra": ("Electra", {**SMALL, "embedding_size": 32}),
    "ernie": ("Ernie", SMALL),
    "esm": ("Esm", {**SMALL, "mask_token_id": 4, "position_embedding_type": "rotary"}),
    "fnet": ("FNet", SMALL),
    "funnel": ("Funnel", {"d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64, "block_sizes": [1, 1]}),
    "layoutlm": ("LayoutLM", SMALL),
    "longformer": ("Longformer", {**SMALL, "attention_window": 8}),
    "megatron_bert": ("MegatronBert", SMALL),
    "mobilebert": ("MobileBert", {**SMALL, "embedding_size": 16, "intra_bottleneck_size": 16,
                                  "true_hidden_size": 16}),
    "modernbert": ("ModernBert", {**SMALL, "global_attn_every_n_layers": 2, "local_attention": 8,
                                  "cls_token_id": 2, "sep_token_id": 1}),
    "mpnet": ("MPNet", SMALL),
    "rembert": ("RemBert", {**SMALL, "input_embedding_size": 16, "output_embedding_size": 24}),
    "roberta": ("Roberta", SMALL),
    "roformer": ("RoFormer", {**SMALL, "embedding_size": 32}),
    "squeezebert": ("SqueezeBert", {**SMALL, "embedding_size": 32}),
    "xlm_roberta": ("XLMRoberta", SMALL),
}
TRANSLATED = {
    "bart": ("Bart", SEQUENCES),
    "blenderbot": ("Blenderbot", SEQUENCES),
    "led": ("LED", {**SEQUENCES, "attention_window": 8}),
    "m2m_100": ("M2M100", SEQUENCES),
    "mbart": ("MBart", SEQUENCES),
    "mt5": ("MT5", T5),
    "pegasus": ("Pegasus", SEQUENCES),
    "t5": ("T5", T5),
}
PICTURES = {
    "beit": ("Beit", {**PATCHES, "use_relative_position_bias": True}),
    "bit": ("Bit", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "num_groups": 4}),
    "convnext": ("ConvNext", {"hidden_sizes": [16, 32], "depths": [1, 2], "num_stages": 2}),
    "convnextv2": ("ConvNextV2", {"hidden_sizes": [16, 32], "depths": [1, 2], "num_stages": 2}),
    "cvt": ("Cvt", {"embed_dim": [16, 32, 32], "num_heads": [1, 2, 4], "depth": [1, 2, 3]}),
    "data2vec_vision": ("Data2VecVision", PATCHES),
    "deit": ("DeiT", PATCHES),
    "dinov2": ("Dinov2", PATCHES),
    "dinov2_with_registers": ("Dinov2WithRegisters", {**PATCHES, "num_register_tokens": 2}),
    "efficientnet": ("EfficientNet", {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320}),
    "focalnet": ("FocalNet", {"image_size": 32, "embed_dim": 16, "hidden_sizes": [32, 64], "depths": [1, 2]}),
    "hgnet_v2": ("HGNetV2", {}),
    "hiera": ("Hiera", {"image_size": [64, 64], "embed_dim": 16, "depths": [1, 1, 1, 1]}),
    "ijepa": ("IJepa", PATCHES),
    "levit": ("Levit", {"image_size": 64, "hidden_sizes": [32, 32, 32], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1],
                        "key_dim": [8, 8, 8]}),
    "mobilenet_v2": ("MobileNetV2", {"depth_multiplier": 0.35}),
    "mobilevit": ("MobileViT", {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 16, 16, 32]}),
    "poolformer": ("PoolFormer", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}),
    "pvt": ("Pvt", {"image_size": 64, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4]}),
    "regnet": ("RegNet", {"embedding_size": 16, "hidden_sizes": [16, 32, 32, 48], "depths": [1, 1, 2, 1], "groups_width": 8}),
    "resnet": ("ResNet", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 2]}),
    "segformer": ("Segformer", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4]}),
    "siglip": ("Siglip", {"vision_config": PATCHES}),
    "swiftformer": ("SwiftFormer", {"image_size": 64, "depths": [1, 1, 1, 1], "embed_dims": [16, 16, 24, 32]}),
    "swin": ("Swin", {"image_size": 32, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4,
                      "patch_size": 2}),
    "swinv2": ("Swinv2", {"image_size": 32, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4,
                          "patch_size": 2}),
    "vit": ("ViT", PATCHES),
    "vit_msn": ("ViTMSN", PATCHES),
    "textnet": ("TextNet", {}),
}
PICTURE_SIZES = {"hiera": 64, "levit": 64, "mobilevit": 64, "poolformer": 64, "pvt": 64, "segformer": 64,
                 "swiftformer": 64, "cvt": 64, "hgnet_v2": 64, "efficientnet": 64, "textnet": 64, "mobilenet_v2": 64}
WAVES = {
    "data2vec_audio": ("Data2VecAudio", WAVE),
    "hubert": ("Hubert", WAVE),
    "sew": ("SEW", {**WAVE, "squeeze_factor": 2}),
    "unispeech": ("UniSpeech", WAVE),
    "wav2vec2": ("Wav2Vec2", WAVE),
    "wavlm": ("WavLM", {**WAVE, "num_buckets": 16}),
}
TOWER = {**SMALL, "projection_dim": 16}
OTHERS = {
    "ast": ("ASTForAudioClassification", "ASTConfig", lambda: {"input_values": torch.randn(BATCH, 32, 16), "labels": classes()},
            {**SMALL, "patch_size": 8, "frequency_stride": 8, "time_stride": 8, "max_length": 32, "num_mel_bins": 16}),
    "bert_classes": ("BertForSequenceClassification", "BertConfig",
                     lambda: {**texts(), "token_type_ids": torch.zeros(BATCH, LENGTH, dtype=torch.long)}, {**SMALL, **TEXT}),
    "bert_spans": ("BertForQuestionAnswering", "BertConfig", spans, {**SMALL, **TEXT}),
    "bert_tokens": ("BertForTokenClassification", "BertConfig", lambda: {"input_ids": words(), "labels": classes(LENGTH)},
                    {**SMALL, **TEXT}),
    "clip": ("CLIPModel", "CLIPConfig", both(),
             {"text_config": {**TOWER, **TEXT}, "vision_config": {**PATCHES, "projection_dim": 16}, "projection_dim": 16}),
    "siglip_pairs": ("SiglipModel", "SiglipConfig", both(), {"text_config": {**SMALL, **TEXT, "max_position_embeddings": LENGTH},
                                                             "vision_config": PATCHES}),
    "chinese_clip": ("ChineseCLIPModel", "ChineseCLIPConfig", both(),
                     {"text_config": {**SMALL, **TEXT}, "vision_config": {**PATCHES, "projection_dim": 16}, "projection_dim": 16}),
    "altclip": ("AltCLIPModel", "AltCLIPConfig", both(),
                {"text_config": {**SMALL, **TEXT, "project_dim": 16}, "vision_config": {**PATCHES, "projection_dim": 16},
                 "projection_dim": 16}),
    "dpt": ("DPTForSemanticSegmentation", "DPTConfig", maps(32),
            {**PATCHES, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16,
             "num_hidden_layers": 4, "is_hybrid": False}),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", causal,
               {**WIDE_HEADS, **TEXT, "query_pre_attn_scalar": 8, "sliding_window": 8}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", causal, {"n_embd": 32, "n_layer": 2, "n_head": 4, **TEXT}),
    "gpt2_padded": ("GPT2LMHeadModel", "GPT2Config", masked, {"n_embd": 32, "n_layer": 2, "n_head": 4, **TEXT}),
    "gpt_neo": ("GPTNeoForCausalLM", "GPTNeoConfig", causal,
                {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
                 "window_size": 8, **TEXT}),
    "llama_classes": ("LlamaForSequenceClassification", "LlamaConfig", lambda: {"input_ids": words(), "labels": classes()},
                      {**GROUPED, **TEXT}),
    "llama_padded": ("LlamaForCausalLM", "LlamaConfig", masked, {**GROUPED, **TEXT}),
    "mobilevit_pixels": ("MobileViTForSemanticSegmentation", "MobileViTConfig", maps(),
                         {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 16, 16, 32],
                          "aspp_out_channels": 16}),
    "moonshine": ("MoonshineForConditionalGeneration", "MoonshineConfig",
                  lambda: {"input_values": torch.randn(BATCH, 4000), "labels": words(16)},
                  {**TEXT, "hidden_size": 32, "intermediate_size": 64, "encoder_num_hidden_layers": 2,
                   "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4,
                   "decoder_start_token_id": 2}),
    "patchtst": ("PatchTSTForPrediction", "PatchTSTConfig", series(),
                 {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8, "prediction_length": 8,
                  "d_model": 16, "num_attention_heads": 4, "num_hidden_layers": 2, "ffn_dim": 32}),
    "patchtsmixer": ("PatchTSMixerForPrediction", "PatchTSMixerConfig", series(),
                     {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8,
                      "prediction_length": 8, "d_model": 16, "num_layers": 2}),
    "segformer_pixels": ("SegformerForSemanticSegmentation", "SegformerConfig", maps(),
                         {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4],
                          "decoder_hidden_size": 16}),
    "speech_to_text": ("Speech2TextForConditionalGeneration", "Speech2TextConfig",
                       lambda: {"input_features": torch.randn(BATCH, 64, 16), "labels": words(16)},
                       {**SEQUENCES, **TEXT, "input_feat_per_channel": 16, "conv_channels": 32}),
    "upernet_pixels": ("UperNetForSemanticSegmentation", "UperNetConfig", maps(),
                       {"backbone": None, "hidden_size": 16, "pool_scales": [1, 2], "use_auxiliary_head": False}),
    "vilt": ("ViltForQuestionAnswering", "ViltConfig",
             lambda: {"input_ids": words(), "pixel_values": images(32), "labels": torch.rand(BATCH, CLASSES)}, {**PATCHES, **TEXT}),
    "vit_mae": ("ViTMAEForPreTraining", "ViTMAEConfig", lambda: {"pixel_values": images(32), "noise": torch.rand(BATCH, 16)},
                {**PATCHES, "decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 4,
                 "decoder_intermediate_size": 32}),
    "wav2vec2_ctc": ("Wav2Vec2ForCTC", "Wav2Vec2Config",
                     lambda: {"input_values": torch.randn(BATCH, 2000), "labels": torch.randint(1, 32, (BATCH, 8))}, WAVE),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                lambda: {"input_features": torch.randn(BATCH, 16, 60), "labels": words(16)},
                {**SEQUENCES, **TEXT, "num_mel_bins": 16, "max_source_positions": 30, "suppress_tokens": None,
                 "begin_suppress_tokens": None}),
    "xlnet": ("XLNetLMHeadModel", "XLNetConfig", causal, {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, **TEXT}),
}


def table():
    entries = dict(OTHERS)
    for name, (family, options) in CAUSAL.items():
        entries[name] = (family + "ForCausalLM", family + "Config", causal, {**TEXT, **options})
    for name, (family, options) in MASKED.items():
        entries[name] = (family + "ForMaskedLM", family + "Config", masked, {**TEXT, **options})
    for name, (family, options) in TRANSLATED.items():
        entries[name] = (family + "ForConditionalGeneration", family + "Config", translated, {**TEXT, **options})
    for name, (family, options) in PICTURES.items():
        entries[name] = (family + "ForImageClassification", family + "Config", pictures(PICTURE_SIZES.get(name, 32)), options)
    for name, (family, options) in WAVES.items():
        entries[name] = (family + "ForSequenceClassification", family + "Config", waves, options)
    return dict(sorted(entries.items()))


TABLE = table()


def without_dropout(config):
    for name, value in vars(config).items():
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif hasattr(value, "to_dict"):
            without_dropout(value)


def case(name):
    import transformers
    kind, configuration, batch, options = TABLE[name]
    config = getattr(transformers, configuration)(**options)
    without_dropout(config)
    config.use_cache = False
    if hasattr(config, "num_experts_per_tok"):  # the other products of experts have no f64
        config._experts_implementation = "batched_mm"
    if "ForConditional" not in kind:
        config.num_labels = 2 if "QuestionAnswering" in kind and name != "vilt" else CLASSES
    net = getattr(transformers, kind)(config)
    further = {"return_loss": True} if name in ("clip", "siglip_pairs", "chinese_clip", "altclip") else {}
    return Case(net, batch(), lambda model, **given: model(**given, **further).loss)


FAMILIES = {"transformers": (list(TABLE), case)}
