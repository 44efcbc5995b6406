# https://github.com/pyg-team/pytorch_geometric/blob/master/examples/tgn.py
import torch
from torch.nn import GRUCell, Linear

torch.manual_seed(0)


class TGNMemory(torch.nn.Module):
    def __init__(self, num_nodes, raw_msg_dim, memory_dim):
        super().__init__()
        self.num_nodes = num_nodes
        self.gru = GRUCell(memory_dim + raw_msg_dim, memory_dim)
        self.register_buffer('memory', torch.zeros(num_nodes, memory_dim))
        self.msg_store = {}

    def reset_state(self):
        self.memory.zero_()
        self.msg_store = {}

    def detach(self):
        self.memory.detach_()

    def forward(self, n_id):
        out = self.memory[n_id]
        updated = []
        for i, n in enumerate(n_id.tolist()):
            if n in self.msg_store:
                other, msg = self.msg_store[n]
                message = torch.cat([self.memory[other], msg])[None]
                updated.append(self.gru(message, out[i:i + 1]))
            else:
                updated.append(out[i:i + 1])
        return torch.cat(updated)

    def update_state(self, src, dst, msg):
        n_id = torch.cat([src, dst]).unique()
        self.memory[n_id] = self(n_id)
        for s, d, m in zip(src.tolist(), dst.tolist(), msg):
            self.msg_store[s], self.msg_store[d] = (d, m), (s, m)


class LinkPredictor(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.lin_src = Linear(in_channels, in_channels)
        self.lin_dst = Linear(in_channels, in_channels)
        self.lin_final = Linear(in_channels, 1)

    def forward(self, z_src, z_dst):
        h = self.lin_src(z_src) * self.lin_dst(z_dst)
        return self.lin_final(h.relu())


# %%
# users 0-9 meet those of their own half of 10-19; the message tells the half
src = torch.randint(0, 10, (240,))
dst = 10 + (src % 2) * 5 + torch.randint(0, 5, (240,))
msg = torch.nn.functional.one_hot(src % 2, 2).float()

memory = TGNMemory(20, 2, 16)
link_pred = LinkPredictor(16)
optimizer = torch.optim.Adam(set(memory.parameters()) | set(link_pred.parameters()), lr=0.01)
criterion = torch.nn.BCEWithLogitsLoss()


def train():
    memory.train()
    link_pred.train()

    memory.reset_state()  # Start with a fresh memory.

    total_loss = 0
    for start in range(0, 240, 20):
        optimizer.zero_grad()
        s, d, m = src[start:start + 20], dst[start:start + 20], msg[start:start + 20]
        neg = 10 + (1 - s % 2) * 5 + torch.randint(0, 5, (20,))

        # Get updated memory of all nodes involved in the computation.
        n_id = torch.cat([s, d, neg]).unique()
        assoc = torch.zeros(20, dtype=torch.long)
        assoc[n_id] = torch.arange(len(n_id))
        z = memory(n_id)
        pos_out = link_pred(z[assoc[s]], z[assoc[d]])
        neg_out = link_pred(z[assoc[s]], z[assoc[neg]])

        loss = criterion(pos_out, torch.ones_like(pos_out))
        loss += criterion(neg_out, torch.zeros_like(neg_out))

        # Update memory with ground-truth state.
        memory.update_state(s, d, m)

        loss.backward()
        optimizer.step()
        memory.detach()
        total_loss += float(loss.detach()) * len(s)
    return total_loss / len(src)


# %%
losses = []
for epoch in range(1, 13):
    losses.append(train())
    print(f'Epoch: {epoch:02d}, Loss: {losses[-1]:.4f}')

assert losses[-1] < 0.6 * losses[0]
assert memory.gru.weight_ih.grad.abs().max() > 0 and not memory.memory.requires_grad
