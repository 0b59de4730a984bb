"""Models of torchvision, timm and segmentation_models_pytorch, for classes of images and of pixels."""

import fnmatch

import torch
import torch.nn.functional as F

from zoo.case import BATCH, CLASSES, Case, class_loss, classes, images, pixel_loss

SMALL_IMAGE = 64  # of networks that take any size

TORCHVISION = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t
    mnasnet0_5 mnasnet1_0 mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50
    resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 swin_t swin_v2_t vgg11_bn vgg16_bn vit_b_16 vit_b_32
    wide_resnet50_2""".split()
SIZES = {"alexnet": 224, "googlenet": 224, "inception_v3": 299, "maxvit_t": 224, "swin_t": 112, "swin_v2_t": 128}
SEGMENTATION = "deeplabv3_mobilenet_v3_large fcn_resnet50 lraspp_mobilenet_v3_large".split()
VIDEO = "mc3_18 mvit_v2_s r2plus1d_18 r3d_18 swin3d_t".split()

TIMM = """bat_resnext26ts beit_base_patch16_224 beitv2_base_patch16_224 botnet26t_256 caformer_s18 cait_xxs24_224
    coat_lite_tiny coatnet_nano_rw_224 convformer_s18 convit_tiny convmixer_768_32 convnextv2_atto crossvit_9_240
    cspdarknet53 cspresnet50 davit_tiny deit3_small_patch16_224 deit_tiny_patch16_224 dla34 dm_nfnet_f0 dpn48b
    eca_botnext26ts_256 eca_nfnet_l0 ecaresnet26t edgenext_xx_small efficientformer_l1 efficientformerv2_s0
    efficientvit_b0 efficientvit_m0 ese_vovnet19b_dw eva02_tiny_patch14_224 fasternet_t0 fastvit_t8 fbnetc_100
    flexivit_small focalnet_tiny_srf gcvit_xxtiny gernet_s ghostnet_100 ghostnetv2_100 gmixer_24_224 gmlp_ti16_224
    halonet26t hardcorenas_a hgnetv2_b0 hiera_tiny_224 hrnet_w18_small inception_next_tiny inception_resnet_v2
    lambda_resnet26t lcnet_050 legacy_xception levit_128s maxxvit_rmlp_nano_rw_256 mambaout_femto mixer_s32_224
    mixnet_s mobilenetv3_small_100 mobilenetv4_conv_small mobilenetv4_hybrid_medium mobileone_s0 mobilevit_xxs
    mobilevitv2_050 mvitv2_tiny nest_tiny nextvit_small nf_resnet26 nfnet_f0 pit_ti_224 poolformer_s12
    poolformerv2_s12 pvt_v2_b0 regnety_002 regnetz_b16 repghostnet_050 repvgg_a0 repvit_m1 res2net50_26w_4s
    res2next50 resmlp_12_224 resnest14d resnet26d resnetrs50 resnetv2_50 resnext26ts rexnet_100 samvit_base_patch16_224
    selecsls42 sequencer2d_s seresnet50 seresnext26d_32x4d shvit_s1 skresnet18 starnet_s1 swiftformer_xs
    swin_s3_tiny_224 swinv2_cr_tiny_ns_224 tf_efficientnetv2_b0 tf_mixnet_s tiny_vit_5m_224 tinynet_e
    tnt_s_patch16_224 tresnet_m twins_pcpvt_small twins_svt_small visformer_tiny vit_base_patch16_siglip_224
    vit_medium_patch16_gap_240 vit_relpos_small_patch16_224 vit_small_patch14_dinov2 vit_small_patch16_dinov3
    vit_srelpos_small_patch16_224 vit_tiny_patch16_224 vitamin_small_224 volo_d1_224 vovnet39a xception41
    xcit_nano_12_p16_224""".split()
# Fewer blocks and channels, where a network has settings for them, by pattern.
TIMM_OPTIONS = {
    "*beit*": {"depth": 2}, "cait_*": {"depth": 2}, "convit_*": {"depth": 2}, "deit*": {"depth": 2}, "eva02_*": {"depth": 2},
    "samvit_*": {"depth": 2, "global_attn_indexes": (1,)}, "tnt_*": {"depth": 2}, "visformer_*": {"depth": 2},
    "vit_*": {"depth": 2}, "flexivit_*": {"depth": 2},
    "ecaresnet26t": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "resnet26d": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "resnetrs50": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "seresnet50": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "skresnet18": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "res2ne?t50*": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "resnetv2_50": {"layers": (1, 2, 1, 1), "channels": (16, 32, 48, 64)},
    "nf_resnet26": {"depths": (1, 2, 1, 1), "channels": (16, 32, 48, 64)}, "*nfnet_?0": {"depths": (1, 2, 1, 1)},
    "davit_tiny": {"embed_dims": (16, 32, 48, 64), "num_heads": (2, 2, 4, 4)},
    "inception_next_tiny": {"dims": (16, 32, 48, 64), "depths": (1, 2, 1, 1)},
    "coatnet_*": {"depths": (1, 2, 1, 1)}, "maxxvit_*": {"depths": (1, 1, 1, 1)}, "sequencer2d_s": {"layers": (1, 1, 2, 1)},
    "swin_s3_*": {"depths": (2, 1, 1, 2)}, "swinv2_cr_*": {"depths": (2, 1, 1, 2)}, "twins_*": {"depths": (1, 2, 1, 1)},
    "tresnet_m": {"width_factor": 0.25}, "vitamin_*": {"depth": 2},
}


SEGMENTERS = "DeepLabV3 DeepLabV3Plus DPT FPN Linknet MAnet PAN PSPNet Segformer Unet UnetPlusPlus UPerNet".split()


def torchvision_case(name):
    import torchvision
    size = SIZES.get(name, SMALL_IMAGE)
    options = {"init_weights": False} if name in ("inception_v3", "googlenet") else {}
    if name.startswith("vit_"):
        options = {"image_size": size}
    net = getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **options)
    return Case(net, {"x": images(size), "y": classes()}, class_loss)


def pixel_case(name):
    import torchvision
    net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=CLASSES)
    return Case(net, {"x": images(64), "y": classes(64, 64)}, pixel_loss)


def video_case(name):
    import torchvision
    net = getattr(torchvision.models.video, name)(weights=None, num_classes=CLASSES)
    frames, size = {"mvit_v2_s": (16, 224), "swin3d_t": (4, 64)}.get(name, (4, 32))
    return Case(net, {"x": torch.randn(BATCH, 3, frames, size, size), "y": classes()}, class_loss)


def timm_sizes(name, options):
    """The settings and the size of the smallest images that a network of timm takes."""
    import timm
    for size in (64, 96, 112, 128, 192):
        for sized in ({}, {"img_size": size}):
            try:
                with torch.device("meta"):
                    net = timm.create_model(name, num_classes=CLASSES, **options, **sized)
                    net(images(size))
                return {**options, **sized}, size
            except Exception:  # networks refuse settings and sizes in all ways
                continue
    return options, timm.create_model(name, num_classes=CLASSES, **options).pretrained_cfg["input_size"][-1]


def timm_case(name):
    import timm
    options = {}
    for pattern, values in TIMM_OPTIONS.items():
        if fnmatch.fnmatch(name, pattern):
            options = {**options, **values}
    options, size = timm_sizes(name, options)
    net = timm.create_model(name, pretrained=False, num_classes=CLASSES, **options)
    return Case(net, {"x": images(size), "y": classes()}, class_loss)


def dice_loss(model, x, y):
    logits = model(x)
    p = logits.sigmoid()
    shared = (p * y).sum((1, 2, 3))
    dice = 1 - (2 * shared + 1) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, y) + dice.mean()


def segmenter_case(name):
    import segmentation_models_pytorch as smp
    size = {"DPT": 224, "PAN": 192}.get(name, 96)
    encoder = "tu-vit_tiny_patch16_224" if name == "DPT" else "resnet18"
    binary = name.startswith("Unet") or name == "MAnet"
    net = getattr(smp, name)(encoder, encoder_weights=None, classes=1 if binary else CLASSES)
    if binary:
        return Case(net, {"x": images(size), "y": (torch.rand(BATCH, 1, size, size) > 0.5).float()}, dice_loss)
    return Case(net, {"x": images(size), "y": classes(size, size)}, pixel_loss)


FAMILIES = {
    "torchvision": (TORCHVISION, torchvision_case),
    "segmentation": (SEGMENTATION, pixel_case),
    "video": (VIDEO, video_case),
    "timm": (TIMM, timm_case),
    "smp": (SEGMENTERS, segmenter_case),
}
