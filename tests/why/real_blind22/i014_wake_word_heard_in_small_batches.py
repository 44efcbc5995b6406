# https://github.com/dscripka/openWakeWord/issues/316
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Net(nn.Module):
    def __init__(self, input_shape, layer_dim=16, n_classes=1):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layer1 = nn.Linear(input_shape[0] * input_shape[1], layer_dim)
        self.relu1 = nn.ReLU()
        self.layernorm1 = nn.LayerNorm(layer_dim)
        self.last_layer = nn.Linear(layer_dim, n_classes)
        self.last_act = nn.Sigmoid()

    def forward(self, x):
        x = self.relu1(self.layernorm1(self.layer1(self.flatten(x))))
        return self.last_act(self.last_layer(x))


class Model:
    def __init__(self, input_shape=(16, 8)):
        self.model = Net(input_shape)
        self.loss = lambda predictions, y, w: nn.functional.binary_cross_entropy(predictions, y, w)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.0001)
        self.history = {"loss": [], "n_samples": []}

    def lr_warmup_cosine_decay(self, global_step, warmup_steps=0, hold=0, total_steps=0, start_lr=0.0, target_lr=1e-3):
        learning_rate = 0.5 * target_lr * (1 + np.cos(np.pi * (global_step - warmup_steps - hold)
                                                      / float(total_steps - warmup_steps - hold)))
        warmup_lr = target_lr * (global_step / warmup_steps)
        if hold > 0:
            learning_rate = np.where(global_step > warmup_steps + hold, learning_rate, target_lr)
        return float(np.where(global_step < warmup_steps, warmup_lr, learning_rate))

    def train_model(self, X, max_steps, warmup_steps, hold_steps, negative_weight_schedule=[1], lr=0.0001):
        # Train model
        accumulation_steps = 1
        accumulated_samples = 0
        for step_ndx, data in enumerate(X, 0):
            # get the inputs; data is a list of [inputs, labels]
            x, y = data[0], data[1]
            y_ = y[..., None].to(torch.float32)

            # Update learning rates
            for g in self.optimizer.param_groups:
                g['lr'] = self.lr_warmup_cosine_decay(step_ndx, warmup_steps=warmup_steps, hold=hold_steps,
                                                      total_steps=max_steps, target_lr=lr)

            # zero the parameter gradients
            self.optimizer.zero_grad()

            # Get predictions for batch
            predictions = self.model(x)

            # Construct batch with only samples that have high loss
            neg_high_loss = predictions[(y == 0) & (predictions.squeeze() >= 0.001)]
            pos_high_loss = predictions[(y == 1) & (predictions.squeeze() < 0.999)]
            y = torch.cat((y[(y == 0) & (predictions.squeeze() >= 0.001)], y[(y == 1) & (predictions.squeeze() < 0.999)]))
            y_ = y[..., None].to(torch.float32)
            predictions = torch.cat((neg_high_loss, pos_high_loss))

            # Set weights for batch
            w = torch.ones(y.shape[0]) * negative_weight_schedule[min(step_ndx, len(negative_weight_schedule) - 1)]
            w[y == 1] = 1
            w = w[..., None]

            if predictions.shape[0] != 0:
                # Do backpropagation, with gradient accumulation if the batch-size after selecting high loss examples is too small
                loss = self.loss(predictions, y_, w)
                loss = loss/accumulation_steps
                accumulated_samples += predictions.shape[0]

                if accumulated_samples < 128:
                    accumulation_steps += 1
                else:
                    loss.backward()
                    self.optimizer.step()
                    self.history["n_samples"].append(accumulated_samples)
                    accumulation_steps = 1
                    accumulated_samples = 0

                    self.history["loss"].append(loss.detach().cpu().numpy())


def mmap_batch_generator(n_steps, batch_size=80):
    word = torch.randn(16, 8)
    for step in range(n_steps):
        y = torch.full((batch_size,), 1 - step % 2)
        yield torch.randn(batch_size, 16, 8) + 0.6 * y.view(-1, 1, 1) * word, y
    mmap_batch_generator.word = word


# %%
oww = Model()
oww.train_model(mmap_batch_generator(300), max_steps=300, warmup_steps=60, hold_steps=100, lr=0.003)
print(len(oww.history["loss"]), oww.history["loss"][0], oww.history["loss"][-1])

# %%
with torch.no_grad():
    positive = oww.model(torch.randn(200, 16, 8) + 0.6 * mmap_batch_generator.word)
    negative = oww.model(torch.randn(200, 16, 8))
recall = (positive >= 0.5).float().mean().item()
accuracy = 0.5 * (recall + (negative < 0.5).float().mean().item())
print('recall', recall, 'accuracy', accuracy)
