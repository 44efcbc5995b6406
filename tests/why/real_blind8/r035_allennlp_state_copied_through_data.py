# https://github.com/allenai/allennlp/issues/2530
import torch
import torch.nn as nn

torch.manual_seed(0)


class AugmentedLstm(torch.nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.input_linearity = torch.nn.Linear(input_size, 4 * hidden_size, bias=False)
        self.state_linearity = torch.nn.Linear(hidden_size, 4 * hidden_size, bias=True)

    def forward(self, sequence_tensor):
        batch_size, total_timesteps, _ = sequence_tensor.size()
        output_accumulator = []
        full_batch_previous_memory = sequence_tensor.new_zeros(batch_size, self.hidden_size)
        full_batch_previous_state = sequence_tensor.new_zeros(batch_size, self.hidden_size)
        for timestep in range(total_timesteps):
            previous_memory = full_batch_previous_memory
            previous_state = full_batch_previous_state
            projected_input = self.input_linearity(sequence_tensor[:, timestep])
            projected_state = self.state_linearity(previous_state)
            i, f, m, o = (projected_input + projected_state).chunk(4, 1)
            memory = torch.sigmoid(i) * torch.tanh(m) + torch.sigmoid(f) * previous_memory
            timestep_output = torch.sigmoid(o) * torch.tanh(memory)

            full_batch_previous_memory = full_batch_previous_memory.data.clone()
            full_batch_previous_state = full_batch_previous_state.data.clone()
            full_batch_previous_memory[0:batch_size] = memory.data
            full_batch_previous_state[0:batch_size] = timestep_output.data
            output_accumulator.append(timestep_output)
        return torch.stack(output_accumulator, 1)


# %%
embedding = nn.Embedding(30, 8)
lstm = AugmentedLstm(8, 16)
classifier = nn.Linear(16, 2)
optimizer = torch.optim.Adam([*embedding.parameters(), *lstm.parameters(), *classifier.parameters()], lr=1e-3)

# %%
tokens, labels = torch.randint(0, 30, (8, 6)), torch.randint(0, 2, (8,))
embedded = embedding(tokens)
embedded.retain_grad()
output = lstm(embedded)
loss = nn.functional.cross_entropy(classifier(output[:, -1]), labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(embedded.grad.abs().sum((0, 2)))
