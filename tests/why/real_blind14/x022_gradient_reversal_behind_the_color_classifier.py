# https://github.com/janfreyberg/pytorch-revgrad/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RevGradF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_):
        return input_.view_as(input_)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


class RevGrad(nn.Module):
    def forward(self, input_):
        return RevGradF.apply(input_)


class ReID(nn.Module):
    def __init__(self, num_ids=5, num_colors=7, feat_dim=32):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(20, feat_dim), nn.ReLU())
        self.classifier = nn.Linear(feat_dim, num_ids)
        self.classifier_color = nn.Sequential(
            nn.Linear(feat_dim, 16, bias=False),
            nn.Linear(16, num_colors, bias=False),
            RevGrad(),
        )

    def forward(self, x):
        features = self.base(x)
        return self.classifier(features), self.classifier_color(features)


# %%
model = ReID()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
xent = nn.CrossEntropyLoss()
losses_color = []
for step in range(150):
    pids, colors = torch.randint(0, 5, (32,)), torch.randint(0, 7, (32,))
    imgs = torch.cat([F.one_hot(pids, 5), F.one_hot(colors, 7), torch.randint(0, 2, (32, 8))], dim=1).float()
    id_scores, color_scores = model(imgs)
    loss_id = xent(id_scores, pids)
    loss_color = xent(color_scores, colors)
    loss = loss_id + loss_color
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses_color.append(loss_color.item())
print(loss_id.item(), losses_color[0], losses_color[-1])
