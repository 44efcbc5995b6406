# https://github.com/imbue-ai/slot_attention/issues/8
import torch
from torch import nn


class SlotAttention(nn.Module):
    def __init__(self, num_slots=3, slot_size=6):
        super().__init__()
        self.num_slots, self.slot_size = num_slots, slot_size
        # Parameters for Gaussian init (shared by all slots).
        self.register_buffer(
            "slots_mu",
            nn.init.xavier_uniform_(torch.zeros((1, 1, self.slot_size)), gain=nn.init.calculate_gain("linear")),
        )
        self.register_buffer(
            "slots_log_sigma",
            nn.init.xavier_uniform_(torch.zeros((1, 1, self.slot_size)), gain=nn.init.calculate_gain("linear")),
        )
        self.project = nn.Linear(slot_size, slot_size)

    def forward(self, inputs):
        slots = torch.randn((len(inputs), self.num_slots, self.slot_size))
        slots = self.slots_mu + self.slots_log_sigma.exp() * slots
        return self.project(slots) + inputs


model = SlotAttention()
before = model.slots_mu.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)

# %%
for _ in range(3):
    loss = model(torch.randn(4, 3, 6)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
print(torch.equal(before, model.slots_mu), model.slots_mu.requires_grad)
