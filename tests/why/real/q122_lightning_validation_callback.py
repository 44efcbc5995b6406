# https://github.com/Lightning-AI/pytorch-lightning/issues/13948
import numpy as np
import torch


class BoringCallback:
    def __init__(self):
        super().__init__()
        self.saved_batch = np.random.rand(32).astype(np.float32)
        self.out_ch = 2

    @torch.enable_grad()
    def _init_and_train_layer(self, feats):
        feats.requires_grad_()
        layer = torch.nn.Linear(2, self.out_ch, device=feats.device)
        logits = layer(feats[None])
        assert logits.requires_grad

    def _pred_feats(self, pl_module):
        saved_batch = torch.tensor(self.saved_batch)
        return pl_module(saved_batch[None])[0]

    def on_validation_batch_start(self, pl_module):
        self._init_and_train_layer(self._pred_feats(pl_module))


def validate(model, callback, inference_mode=True):
    with torch.inference_mode() if inference_mode else torch.no_grad():
        callback.on_validation_batch_start(model)


# %%
model = torch.nn.Linear(32, 2)
callback = BoringCallback()

# %%
validate(model, callback)
