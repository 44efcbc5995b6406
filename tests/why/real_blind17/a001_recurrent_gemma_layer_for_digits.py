# https://github.com/huggingface/transformers/issues/31324
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class RecurrentGemmaRglru(nn.Module):
    """A Real-Gated Linear Recurrent Unit (RG-LRU) layer."""

    def __init__(self, lru_width, num_attention_heads):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.block_width = lru_width // num_attention_heads
        shape = [num_attention_heads, self.block_width]

        self.recurrent_param = nn.Parameter(torch.randn([lru_width]))
        self.input_gate_weight = nn.Parameter(torch.randn(shape + [self.block_width]) * 0.1)
        self.input_gate_bias = nn.Parameter(torch.zeros(shape))
        self.recurrent_gate_weight = nn.Parameter(torch.randn(shape + [self.block_width]) * 0.1)
        self.recurrent_gate_bias = nn.Parameter(torch.zeros(shape))
        self.recurrent_states = None

    def gate(self, activations, weight, bias):
        batch_size, seq_len, lru_width = activations.shape
        act = activations.reshape(batch_size * seq_len, self.num_attention_heads, self.block_width)
        res = torch.baddbmm(bias[:, None, :], act.permute(1, 0, 2), weight)
        return torch.sigmoid(res.transpose(0, 1).reshape(batch_size, seq_len, lru_width))

    def forward(self, activations, position_ids):
        reset = position_ids[:, :, None] == 0
        input_gate = self.gate(activations, self.input_gate_weight, self.input_gate_bias)
        recurrent_gate = self.gate(activations, self.recurrent_gate_weight, self.recurrent_gate_bias)

        log_recurrent_gate = -8.0 * recurrent_gate * nn.functional.softplus(self.recurrent_param)
        recurrent_gate = torch.exp(log_recurrent_gate)
        a_square = torch.exp(2 * log_recurrent_gate)

        gated_inputs = activations * input_gate
        multiplier = reset + ~reset * torch.sqrt(1 - a_square + 1e-6)
        normalized_x = gated_inputs * multiplier

        hidden_states, recurrent_states = self._rnn_scan(
            hidden_states=normalized_x,
            recurrent_gate=recurrent_gate,
            reset=reset,
            recurrent_states=self.recurrent_states,
        )
        self.recurrent_states = recurrent_states
        return hidden_states

    def _rnn_scan(self, hidden_states, recurrent_gate, reset, recurrent_states):
        recurrent_gate = recurrent_gate * ~reset
        if recurrent_states is None:
            recurrent_states = torch.zeros(hidden_states[:, 0].shape)
        contextualized_states = []
        for t in range(hidden_states.shape[1]):
            recurrent_states = recurrent_gate[:, t] * recurrent_states + hidden_states[:, t]
            contextualized_states.append(recurrent_states)
        return torch.stack(contextualized_states, dim=1), recurrent_states


class RGLRU(nn.Module):
    def __init__(self, lru_width=28, num_classes=10):
        super().__init__()
        self.rglru = RecurrentGemmaRglru(lru_width, num_attention_heads=4)
        self.fc = nn.Linear(lru_width, num_classes)

    def forward(self, x):
        position_ids = torch.arange(x.shape[1]).repeat(x.shape[0], 1)
        out = self.rglru(x, position_ids)
        return self.fc(out[:, -1])


images, labels = torch.rand(64, 28, 28), torch.randint(0, 10, (64,))
train_loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)

model = RGLRU()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
model.train()
for epoch in range(2):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        print(epoch, i, loss.item())
