# https://github.com/Lightning-AI/pytorch-lightning/issues/4487
import torch

torch.manual_seed(0)


class Feedforward(torch.nn.Module):
    def __init__(self, input_size, hidden_size):
        super(Feedforward, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.fc1 = torch.nn.Linear(self.input_size, self.hidden_size)
        self.relu = torch.nn.ReLU()
        self.fc2 = torch.nn.Linear(self.hidden_size, 1)

    def forward(self, x):
        hidden = self.fc1(x)
        relu = self.relu(hidden)
        output = self.fc2(relu)
        output = output.sum()
        output = torch.autograd.grad(outputs=output, inputs=x, retain_graph=True, create_graph=True)
        return output[0]


class System(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.criterion = torch.nn.MSELoss()

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self.model(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self.model(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, system, train_batches, val_batches):
        optimizer = system.configure_optimizers()
        for epoch in range(self.max_epochs):
            system.train()
            for batch_idx, batch in enumerate(train_batches):
                optimizer.zero_grad()
                loss = system.training_step(batch, batch_idx)
                loss.backward()
                optimizer.step()
            self.evaluate(system, val_batches, epoch)

    def evaluate(self, system, val_batches, epoch):
        system.eval()
        with torch.no_grad():
            losses = [system.validation_step(batch, i) for i, batch in enumerate(val_batches)]
        print(epoch, sum(loss.item() for loss in losses) / len(losses))


train_batches = [(torch.rand((10, 3), requires_grad=True), torch.rand((10, 3))) for _ in range(4)]
test_input = torch.rand((10, 3), requires_grad=True)
test_output = torch.rand((10, 3))

model = Feedforward(3, 10)
system = System(model)
pred = model(test_input)
print(pred.shape)

# %%
trainer = Trainer(max_epochs=2)
trainer.fit(system, train_batches, [(test_input, test_output)])
