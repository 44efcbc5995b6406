# https://github.com/maruya24/pytorch_robotics_transformer/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class _TransformerLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.ff = nn.Linear(d_model, d_model)

    def forward(self, x):
        return x + torch.relu(self.ff(self.norm(x)))


class Transformer(nn.Module):
    def __init__(self, num_layers=2, vocab_size=6, d_model=8):
        super().__init__()
        self._layers = [_TransformerLayer(d_model) for _ in range(num_layers)]
        self._token_emb = nn.Linear(4, d_model)
        self._output_tokens = nn.Linear(d_model, vocab_size)

    def forward(self, inputs):
        x = self._token_emb(inputs)
        for layer in self._layers:
            x = layer(x)
        return self._output_tokens(x)


model = Transformer()
before = model._layers[0].ff.weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
inputs, labels = torch.randn(8, 4), torch.randint(6, (8,))
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
print(sum(p.numel() for p in model.parameters()), loss.item())
