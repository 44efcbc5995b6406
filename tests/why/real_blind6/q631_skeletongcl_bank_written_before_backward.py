# https://github.com/OliverHxh/SkeletonGCL/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class InfoNCEGraph(nn.Module):
    def __init__(self, in_channels=12, out_channels=8, mem_size=32, class_num=4, temperature=0.8):
        super().__init__()
        self.temp = temperature
        self.trans = nn.Linear(in_channels, out_channels)
        self.register_buffer('bank', F.normalize(torch.randn(mem_size, out_channels), dim=-1))
        self.register_buffer('label_all', torch.arange(mem_size) % class_num)

    def forward(self, f, label, input_index):
        f = self.trans(f)
        f_normed = F.normalize(f, dim=-1)
        mask = (label.unsqueeze(1) == self.label_all.unsqueeze(0)).float()
        all_pairs = torch.einsum('n c, m c -> n m', f_normed, self.bank)
        with torch.no_grad():
            self.bank[input_index] = f_normed.detach()
        log_prob = torch.log_softmax(all_pairs / self.temp, dim=-1)
        return -((mask * log_prob).sum(-1) / mask.sum(-1)).mean()


model = nn.Sequential(nn.Linear(10, 12), nn.ReLU())
head = nn.Linear(12, 4)
contrast = InfoNCEGraph()
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters(), *contrast.trans.parameters()], lr=0.1)

# %%
for batch_idx in range(3):
    index = torch.randperm(32)[:8]
    data, label = torch.randn(8, 10), index % 4
    graph = model(data)
    loss = F.cross_entropy(head(graph), label) + 0.1 * contrast(graph, label, index)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(batch_idx, loss.item())
