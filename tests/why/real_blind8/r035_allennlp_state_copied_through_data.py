# https://github.com/allenai/allennlp/issues/2530
import torch
import torch.nn as nn

torch.manual_seed(0)


class AugmentedLstm(torch.nn.Module):
    def __init__(self, input_size, lstm_dim):
        super().__init__()
        self.input_size, self.lstm_dim = input_size, lstm_dim
        self.input_linearity = torch.nn.Linear(input_size, 4 * lstm_dim, bias=False)
        self.state_linearity = torch.nn.Linear(lstm_dim, 4 * lstm_dim, bias=True)

    def cell(self, timestep_input, previous_state, previous_memory):
        projected = self.input_linearity(timestep_input) + self.state_linearity(previous_state)
        i, f, m, o = projected.chunk(4, 1)
        memory = torch.sigmoid(i) * torch.tanh(m) + torch.sigmoid(f) * previous_memory
        return torch.sigmoid(o) * torch.tanh(memory), memory

    def forward(self, sequence_tensor, batch_lengths):
        batch_size, total_timesteps, _ = sequence_tensor.size()
        output_accumulator = sequence_tensor.new_zeros(batch_size, total_timesteps, self.lstm_dim)
        full_batch_previous_memory = sequence_tensor.new_zeros(batch_size, self.lstm_dim)
        full_batch_previous_state = sequence_tensor.data.new_zeros(batch_size, self.lstm_dim)
        current_length_index = batch_size - 1
        for index in range(total_timesteps):
            while batch_lengths[current_length_index] <= index:
                current_length_index -= 1

            previous_memory = full_batch_previous_memory[0 : current_length_index + 1].clone()
            previous_state = full_batch_previous_state[0 : current_length_index + 1].clone()
            timestep_input = sequence_tensor[0 : current_length_index + 1, index]
            timestep_output, memory = self.cell(timestep_input, previous_state, previous_memory)

            full_batch_previous_memory = full_batch_previous_memory.data.clone()
            full_batch_previous_state = full_batch_previous_state.data.clone()
            full_batch_previous_memory[0 : current_length_index + 1] = memory
            full_batch_previous_state[0 : current_length_index + 1] = timestep_output
            output_accumulator[0 : current_length_index + 1, index, :] = timestep_output
        return output_accumulator, (full_batch_previous_state, full_batch_previous_memory)


# %%
embedding = nn.Embedding(30, 8)
lstm = AugmentedLstm(8, 16)
classifier = nn.Linear(16, 2)
optimizer = torch.optim.Adam([*embedding.parameters(), *lstm.parameters(), *classifier.parameters()], lr=1e-3)

# %%
tokens, labels, lengths = torch.randint(0, 30, (6, 6)), torch.randint(0, 2, (6,)), torch.tensor([6, 6, 5, 4, 3, 3])
embedded = embedding(tokens)
embedded.retain_grad()
output, (final_state, final_memory) = lstm(embedded, lengths)
loss = nn.functional.cross_entropy(classifier(final_state), labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(embedded.grad.abs().sum((1, 2)))
