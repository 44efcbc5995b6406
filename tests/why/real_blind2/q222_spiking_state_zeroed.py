# https://github.com/synsense/sinabs/issues/5
from typing import List

import torch
import torch.nn as nn


class StatefulLayer(nn.Module):
    def __init__(self, state_names: List[str]):
        super().__init__()
        for state_name in state_names:
            self.register_buffer(state_name, torch.zeros((0)))

    def is_state_initialised(self) -> bool:
        for buffer in self.buffers():
            if buffer.shape == torch.Size([0]):
                return False
        return True

    def init_state_with_shape(self, shape) -> None:
        for name, buffer in self.named_buffers():
            self.register_buffer(name, torch.zeros(shape, device=buffer.device))

    def reset_states(self, randomize=False):
        """
        Reset the state/buffers in a layer.
        """
        if self.is_state_initialised():
            for buffer in self.buffers():
                if randomize:
                    torch.nn.init.uniform_(buffer)
                else:
                    buffer.zero_()


class SingleSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v_mem, spike_threshold):
        ctx.save_for_backward(v_mem)
        ctx.spike_threshold = spike_threshold
        return (v_mem >= spike_threshold).float()

    @staticmethod
    def backward(ctx, grad_output):
        (v_mem,) = ctx.saved_tensors
        surrogate = torch.exp(-(v_mem - ctx.spike_threshold).abs())
        return grad_output * surrogate, None


class LIF(StatefulLayer):
    def __init__(self, tau_mem, spike_threshold=1.0):
        super().__init__(state_names=['v_mem'])
        self.tau_mem = nn.Parameter(torch.tensor(float(tau_mem)))
        self.spike_threshold = spike_threshold

    def forward(self, input_data):
        batch_size, time_steps, *trailing_dim = input_data.shape
        if not self.is_state_initialised():
            self.init_state_with_shape((batch_size, *trailing_dim))
        alpha = torch.exp(-1.0 / self.tau_mem)
        output_spikes = []
        for step in range(time_steps):
            self.v_mem = alpha * self.v_mem + (1 - alpha) * input_data[:, step]
            spikes = SingleSpike.apply(self.v_mem, self.spike_threshold)
            self.v_mem = self.v_mem - spikes * self.spike_threshold
            output_spikes.append(spikes)
        return torch.stack(output_spikes, 1)


# %%
model = nn.Sequential(nn.Linear(12, 16), LIF(tau_mem=20.0, spike_threshold=0.1), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
data = [(torch.rand(8, 10, 12), torch.randint(4, (8,))) for _ in range(3)]

# %%
for inputs, labels in data:
    # reset the states of the spiking layers for every batch
    for layer in model:
        if isinstance(layer, StatefulLayer):
            layer.reset_states()
    optimizer.zero_grad()
    output = model(inputs).sum(1)
    loss = criterion(output, labels)
    loss.backward()
    optimizer.step()
    print(loss.item())
