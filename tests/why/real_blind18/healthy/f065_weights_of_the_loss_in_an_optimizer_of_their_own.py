# https://github.com/KevinMusgrave/pytorch-metric-learning/issues/468
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class SubCenterArcFaceLoss(nn.Module):
    def __init__(self, num_classes, embedding_size, margin=28.6, scale=64, sub_centers=3):
        super().__init__()
        self.sub_centers, self.scale, self.num_classes = sub_centers, scale, num_classes
        self.margin = math.radians(margin)
        self.W = nn.Parameter(torch.empty(embedding_size, num_classes * sub_centers))
        nn.init.xavier_uniform_(self.W)

    def get_cosine(self, embeddings):
        cosine = F.normalize(embeddings) @ F.normalize(self.W, dim=0)
        cosine = cosine.view(-1, self.num_classes, self.sub_centers)
        cosine, _ = cosine.max(axis=2)
        return cosine

    def get_target_mask(self, embeddings, labels):
        mask = torch.zeros(len(embeddings), self.num_classes, dtype=embeddings.dtype)
        mask[torch.arange(len(embeddings)), labels] = 1
        return mask

    def modify_cosine_of_target_classes(self, cosine_of_target_classes):
        angles = torch.acos(torch.clamp(cosine_of_target_classes, -1 + 1e-7, 1 - 1e-7))
        return torch.cos(angles + self.margin)

    def forward(self, embeddings, labels):
        mask = self.get_target_mask(embeddings, labels)
        cosine = self.get_cosine(embeddings)
        cosine_of_target_classes = cosine[mask == 1]
        modified = self.modify_cosine_of_target_classes(cosine_of_target_classes)
        diff = (modified - cosine_of_target_classes).unsqueeze(1)
        logits = cosine + (mask * diff)
        return F.cross_entropy(logits * self.scale, labels)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.fc1 = nn.Linear(16 * 9, 16)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        return self.fc1(torch.flatten(x, 1))


GLYPHS = (torch.rand(10, 1, 10, 10) > 0.6).float()


def digits(n):
    labels = torch.randint(0, 10, (n,))
    return GLYPHS[labels] + 0.4 * torch.randn(n, 1, 10, 10), labels


# %%
model = Net()
optimizer = optim.Adam(model.parameters(), lr=0.01)
num_epochs = 2
### pytorch-metric-learning stuff ###
loss_func = SubCenterArcFaceLoss(num_classes=10, embedding_size=16, scale=16)
loss_optimizer = torch.optim.Adam(loss_func.parameters(), lr=1e-2)
w_before = loss_func.W.detach().clone()

# %%
losses = []
for epoch in range(num_epochs):
    model.train()
    for batch_idx in range(40):
        data, labels = digits(64)
        optimizer.zero_grad()
        loss_optimizer.zero_grad()
        embeddings = model(data)
        loss = loss_func(embeddings, labels)
        loss.backward()
        optimizer.step()
        loss_optimizer.step()
        losses.append(loss.item())
    print("Epoch {} Loss = {}".format(epoch, loss))

# %%
model.eval()
with torch.no_grad():
    (a, la), (b, lb) = digits(300), digits(300)
    nearest = (F.normalize(model(b)) @ F.normalize(model(a)).t()).argmax(1)
    precision_at_1 = (la[nearest] == lb).float().mean().item()
w_moved = (loss_func.W - w_before).abs().max().item()
in_model = {id(p) for g in optimizer.param_groups for p in g['params']}
print(losses[0], losses[-1], precision_at_1, w_moved)
assert id(loss_func.W) not in in_model and w_moved > 1e-2
assert precision_at_1 > 0.9 and losses[-1] < 0.4 * losses[0]
