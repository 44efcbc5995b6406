import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvNet(nn.Module):
    def __init__(self, width, depth, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.stages = nn.ModuleList()
        c = width
        for _ in range(3):
            layers = []
            for i in range(depth):
                layers += [
                    nn.Conv2d(c, c if i else 2 * c, 3, stride=1 if i else 2, padding=1),
                    nn.BatchNorm2d(2 * c if not i else c),
                    nn.ReLU(inplace=True),
                ]
                c = c if i else 2 * c
            self.stages.append(nn.Sequential(*layers))
        self.fc = nn.Linear(c, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.fc(x.mean(dim=(2, 3)))


class FeatureExtractor:
    def __init__(self, model, layers):
        self.features = {}
        for name, module in model.named_modules():
            if name in layers:
                module.register_forward_hook(self.save(name))

    def save(self, name):
        def hook(module, inputs, output):
            self.features[name] = output

        return hook


teacher, student = ConvNet(8, 2), ConvNet(4, 1)
layers = ["stages.0", "stages.1", "stages.2"]
t_feats, s_feats = FeatureExtractor(teacher, layers), FeatureExtractor(student, layers)
adapters = nn.ModuleList([nn.Conv2d(s, t, 1) for s, t in ((8, 16), (16, 32), (32, 64))])
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()
optimizer = torch.optim.AdamW([*student.parameters(), *adapters.parameters()], lr=1e-3)
images, labels = torch.rand(8, 3, 16, 16), torch.randint(0, 10, (8,))
T, alpha, beta = 4.0, 0.7, 100.0
# %% the recorded cell
student.train()
with torch.no_grad():
    t_logits = teacher(images)
s_logits = student(images)
ce_loss = F.cross_entropy(s_logits, labels)
kd_loss = (
    F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean")
    * T
    * T
)
feat_loss = 0.0
for name, adapter in zip(layers, adapters, strict=True):
    feat_loss = feat_loss + F.mse_loss(adapter(s_feats.features[name]), t_feats.features[name])
loss = (1 - alpha) * ce_loss + alpha * kd_loss + beta * feat_loss
optimizer.zero_grad()
loss.backward()
optimizer.step()
