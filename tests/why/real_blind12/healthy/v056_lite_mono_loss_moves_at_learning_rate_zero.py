# https://github.com/noahzn/Lite-Mono/issues/99
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(),
                                     nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU())
        self.disp = nn.Sequential(nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.disp(self.encoder(x))


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(6, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                 nn.Linear(8, 3))

    def forward(self, pair):
        return 0.01 * self.net(pair)


class Trainer:
    def __init__(self, lr):
        self.models = {"depth": DepthNet(), "pose": PoseNet()}
        self.model_optimizer = optim.AdamW(self.models["depth"].parameters(), lr, weight_decay=1e-2)
        self.model_pose_optimizer = optim.AdamW(self.models["pose"].parameters(), lr, weight_decay=1e-2)

    def set_train(self):
        for m in self.models.values():
            m.train()

    def set_eval(self):
        for m in self.models.values():
            m.eval()

    def compute_loss(self, inputs):
        disp = self.models["depth"](inputs["target"])
        pose = self.models["pose"](torch.cat([inputs["target"], inputs["source"]], 1))
        warped = inputs["source"] * (1 + disp * pose[:, :, None, None])
        smooth = (disp[..., 1:] - disp[..., :-1]).abs().mean()
        return (warped - inputs["target"]).abs().mean() + 1e-3 * smooth

    def run_epoch(self, batches):
        self.set_train()
        for inputs in batches:
            loss = self.compute_loss(inputs)
            self.model_optimizer.zero_grad()
            self.model_pose_optimizer.zero_grad()
            loss.backward()
            self.model_optimizer.step()
            self.model_pose_optimizer.step()

    def val(self, inputs):
        self.set_eval()
        with torch.no_grad():
            return self.compute_loss(inputs).item()


# %%
# the rate is zero on purpose: what else changes the predicted depth?
trainer = Trainer(lr=0.0)
images = [2 + torch.rand(4, 3, 12, 12) for _ in range(6)]
batches = [{"target": t, "source": t + 0.1 * torch.rand_like(t)} for t in images]
weight_before = trainer.models["depth"].encoder[0].weight.detach().clone()
mean_before = trainer.models["depth"].encoder[1].running_mean.clone()

# %%
val_losses = [trainer.val(batches[0])]
for epoch in range(4):
    trainer.run_epoch(batches)
    val_losses.append(trainer.val(batches[0]))
print(val_losses)
assert val_losses[0] != val_losses[-1]
assert torch.equal(weight_before, trainer.models["depth"].encoder[0].weight)
assert not torch.equal(mean_before, trainer.models["depth"].encoder[1].running_mean)
