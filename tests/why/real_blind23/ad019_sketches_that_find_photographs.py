# https://github.com/haowang1992/DSN/issues/1
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SketchMemory:
    def __init__(self, num_classes, size, dim):
        self.sketches = torch.zeros(num_classes, size, dim)
        self.used = torch.zeros(num_classes, dtype=torch.long)
        self.size = size

    def add_entries(self, sketch_features, sketch_labels, image_features, image_labels):
        for feature, label in zip(sketch_features, sketch_labels):
            self.sketches[label, self.used[label] % self.size] = F.normalize(feature, dim=0)
            self.used[label] += 1

    def get_memory_used_percent(self):
        return 100.0 * self.used.clamp(max=self.size).sum().item() / (len(self.used) * self.size)

    def memory_loss(self, image_features, image_labels):
        similarity = []
        for feature, label in zip(F.normalize(image_features, dim=1), image_labels):
            n = min(int(self.used[label]), self.size)
            if n > 0:
                weights = F.softmax(self.sketches[label, :n] @ feature, dim=0)
                prototype = (weights.unsqueeze(1) * self.sketches[label, :n]).sum(0)
                similarity.append(F.cosine_similarity(feature, prototype, dim=0))
        return torch.stack(similarity).mean()


class CSEResNet(nn.Module):
    def __init__(self, num_hashing, num_classes, teacher_classes, dim=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, dim, 3, 2, 1), nn.ReLU())
        self.excitation = nn.Sequential(nn.Linear(dim + 1, 16), nn.ReLU(), nn.Linear(16, dim), nn.Sigmoid())
        self.feature = nn.Linear(dim, dim)
        self.hashing = nn.Linear(dim, num_hashing)
        self.linear = nn.Linear(num_hashing, num_classes)
        self.original = nn.Linear(dim, teacher_classes)

    def forward(self, x, tag):
        x = self.stem(x).mean((2, 3))
        x = x * self.excitation(torch.cat([x, tag], 1))
        features = self.feature(x)
        hash_code = self.hashing(features)
        return self.linear(F.relu(hash_code)), self.original(features), hash_code, features


def contrastive(features, labels, temperature=0.1):
    logits = features @ features.t() / temperature
    others = ~torch.eye(len(features), dtype=torch.bool)
    same = (labels[:, None] == labels[None]) & others
    log_prob = logits - torch.logsumexp(logits.masked_fill(~others, -1e9), 1, keepdim=True)
    return -(log_prob * same).sum(1).div(same.sum(1).clamp(min=1)).mean()


def get_batch(patterns, n=8):
    label_s, label_i = torch.randint(0, len(patterns), (2, n))
    sketch = patterns[label_s].mean(1, keepdim=True).expand(-1, 3, -1, -1)
    image = patterns[label_i]
    return sketch + 0.1 * torch.randn_like(sketch), label_s, image + 0.1 * torch.randn_like(image), label_i


# %%
num_classes = 5
patterns = torch.randn(num_classes, 3, 16, 16)
model = CSEResNet(16, num_classes, 10)
model_t = copy.deepcopy(model).eval()
memory = SketchMemory(num_classes, 4, 32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
args = {'cls_lambda': 1.0, 'sake_lambda': 1.0, 'contrastive_lambda': 0.1, 'memory_lambda': 1.0}

# %%
for i in range(20):
    sketch, label_s, image, label_i = get_batch(patterns)
    tag_zeros, tag_ones = torch.zeros(len(sketch), 1), torch.ones(len(image), 1)
    tag_all = torch.cat([tag_zeros, tag_ones])
    target_all = torch.cat([label_s, label_i])

    output, output_kd, hash_code, features = model(torch.cat([sketch, image]), tag_all)
    memory.add_entries(features[:tag_zeros.size(0)].detach(), label_s.detach(),
                       features[tag_zeros.size(0):tag_all.size(0)].detach(), label_i.detach())
    loss_memory = 1.0 - memory.memory_loss(features[tag_zeros.size(0):tag_all.size(0)].detach(), label_i.detach())

    with torch.no_grad():
        output_t = model_t(torch.cat([sketch, image]), tag_all)[1]
    loss = F.cross_entropy(output, target_all)
    loss_kd = F.kl_div(F.log_softmax(output_kd, 1), F.softmax(output_t, 1), reduction='batchmean')
    loss_contrastive = contrastive(F.normalize(hash_code), target_all)

    optimizer.zero_grad()
    loss_total = (args['cls_lambda'] * loss + args['sake_lambda'] * loss_kd
                  + args['contrastive_lambda'] * loss_contrastive + args['memory_lambda'] * loss_memory)
    loss_total.backward()
    optimizer.step()
    if i % 5 == 0:
        print('[{0}/20] Loss {1:.3f} {2:.3f} {3:.3f} {4:.3f} Memory used {5:.0f}%'.format(
            i, loss.item(), loss_kd.item(), loss_contrastive.item(), loss_memory.item(), memory.get_memory_used_percent()))

# %%
print('loss_memory', loss_memory, loss_memory.grad_fn)
