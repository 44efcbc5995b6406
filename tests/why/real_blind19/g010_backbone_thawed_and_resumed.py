# https://github.com/Lightning-AI/pytorch-lightning/issues/21901
import torch
from torch import nn

torch.manual_seed(0)


class BaseFinetuning:
    def __init__(self):
        self.optimizer_metadata = []
        self.restarting = False

    def state_dict(self):
        return {"metadata": list(self.optimizer_metadata)}

    def load_state_dict(self, state):
        self.restarting = True
        self.optimizer_metadata = list(state["metadata"])

    def setup(self, module):
        self.freeze_before_training(module)

    def on_fit_start(self, module, optimizer):
        if self.restarting:
            names = dict(module.named_parameters())
            for group in self.optimizer_metadata:
                optimizer.add_param_group({"params": [names[n] for n in group["params"]], "lr": group["lr"]})
            self.restarting = False

    @staticmethod
    def freeze(modules):
        for param in modules.parameters():
            param.requires_grad = False

    def unfreeze_and_add_param_group(self, module, child, optimizer, lr):
        params = {n: p for n, p in module.named_parameters() if n.startswith(child + ".")}
        for param in params.values():
            param.requires_grad = True
        optimizer.add_param_group({"params": list(params.values()), "lr": lr})
        self.optimizer_metadata.append({"params": list(params), "lr": lr})


class BackboneFinetuning(BaseFinetuning):
    def __init__(self, unfreeze_backbone_at_epoch, backbone_initial_lr=0.05):
        super().__init__()
        self.unfreeze_backbone_at_epoch = unfreeze_backbone_at_epoch
        self.backbone_lr = backbone_initial_lr

    def freeze_before_training(self, module):
        self.freeze(module.backbone)

    def finetune_function(self, module, epoch, optimizer):
        if epoch == self.unfreeze_backbone_at_epoch:
            self.unfreeze_and_add_param_group(module, "backbone", optimizer, self.backbone_lr)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.backbone(x))

    def configure_optimizers(self):
        return torch.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=0.05)


class Trainer:
    def __init__(self, max_epochs, callback):
        self.max_epochs, self.callback = max_epochs, callback

    def fit(self, model, data, ckpt=None):
        first = 0
        if ckpt is not None:
            model.load_state_dict(ckpt["state_dict"])
            self.callback.load_state_dict(ckpt["callback"])
            first = ckpt["epoch"] + 1
        self.callback.setup(model)
        optimizer = model.configure_optimizers()
        self.callback.on_fit_start(model, optimizer)
        for epoch in range(first, self.max_epochs):
            self.callback.finetune_function(model, epoch, optimizer)
            for x, y in data:
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, loss.item(), "lr", [group["lr"] for group in optimizer.param_groups])
        state = {k: v.clone() for k, v in model.state_dict().items()}
        return {"state_dict": state, "callback": self.callback.state_dict(), "epoch": epoch}


# %%
data = [(x, x[:, :1] * x[:, 1:2]) for x in torch.randn(10, 16, 8)]
model = Model()
ckpt = Trainer(max_epochs=2, callback=BackboneFinetuning(1)).fit(model, data)

# %%
resumed = Model()
Trainer(max_epochs=4, callback=BackboneFinetuning(1)).fit(resumed, data, ckpt=ckpt)
change = (resumed.backbone[0].weight - ckpt["state_dict"]["backbone.0.weight"]).abs().max().item()
print("the backbone has changed by", change)
