# https://github.com/linkedin/Liger-Kernel/pull/269
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
hidden_size, vocab_size = 16, 24
medusa_num_heads, medusa_num_layers = 3, 1


class ResBlock(nn.Module):
    """
    A Residual Block module.

    This module performs a linear transformation followed by a SiLU activation,
    and then adds the result to the original input, creating a residual connection.
    """
    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, hidden_size)
        # Initialize as an identity mapping
        torch.nn.init.zeros_(self.linear.weight)
        # Use SiLU activation to keep consistent with the Llama model
        self.act = nn.SiLU()

    def forward(self, x):
        return x + self.act(self.linear(x))


class CausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab_size)
        self.medusa_head = nn.ModuleList(
            [
                nn.Sequential(
                    *([layer] * medusa_num_layers),
                    nn.Linear(hidden_size, vocab_size, bias=False),
                )
                for layer in [ResBlock(hidden_size)] * medusa_num_heads
            ]
        )

    def forward(self, input_ids):
        with torch.no_grad():
            hidden_states, _ = self.rnn(self.embed(input_ids))
        return [head(hidden_states) for head in self.medusa_head]


# %%
model = CausalLM()
for name, param in model.named_parameters():
    param.requires_grad = "medusa_head" in name
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
input_ids = torch.randint(0, vocab_size, (4, 16))

for step in range(4):
    medusa_logits = model(input_ids)
    loss = 0
    for i, logits in enumerate(medusa_logits):
        shift_logits = logits[:, : -(2 + i)]
        shift_labels = input_ids[:, 2 + i:]
        loss += F.cross_entropy(shift_logits.reshape(-1, vocab_size), shift_labels.reshape(-1)) * 0.8 ** i
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(sum(p.numel() for p in model.medusa_head.parameters()))
