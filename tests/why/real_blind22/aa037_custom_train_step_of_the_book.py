# https://github.com/fchollet/deep-learning-with-python-notebooks/issues/293
import torch
from torch import nn

torch.manual_seed(0)


class Mean:
    def __init__(self, name):
        self.name = name
        self.reset_state()

    def reset_state(self):
        self.total, self.count = 0.0, 0

    def update_state(self, value):
        self.total += float(value.detach())
        self.count += 1

    def result(self):
        return self.total / max(self.count, 1)


class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, inputs):
        return self.layers(inputs)

    @property
    def trainable_weights(self):
        return [p for p in self.parameters() if p.requires_grad]

    def compile(self, optimizer):
        self.optimizer = optimizer

    def fit(self, data, targets, epochs, batch_size):
        history = []
        for epoch in range(epochs):
            for metric in self.metrics:
                metric.reset_state()
            for i in torch.randperm(len(data)).split(batch_size):
                logs = self.train_step((data[i], targets[i]))
            history.append(logs["loss"])
        return history


class RMSprop:
    def __init__(self, learning_rate=0.001, rho=0.9, epsilon=1e-7):
        self.learning_rate, self.rho, self.epsilon = learning_rate, rho, epsilon
        self.velocities = {}

    def apply(self, gradients, trainable_weights):
        for g, w in zip(gradients, trainable_weights):
            v = self.velocities.setdefault(w, torch.zeros_like(w))
            v.mul_(self.rho).add_((1 - self.rho) * g * g)
            w.sub_(self.learning_rate * g / torch.sqrt(v + self.epsilon))


# %%
loss_fn = nn.CrossEntropyLoss()
loss_tracker = Mean(name="loss")


class CustomModel(Model):
    def train_step(self, data):
        inputs, targets = data
        predictions = self(inputs)
        loss = loss_fn(predictions, targets)

        # Retrieves the gradients
        loss.backward()
        trainable_weights = [v for v in self.trainable_weights]
        gradients = [v.grad for v in trainable_weights]

        with torch.no_grad():
            # Updates weights
            self.optimizer.apply(gradients, trainable_weights)

        loss_tracker.update_state(loss)
        return {"loss": loss_tracker.result()}

    @property
    def metrics(self):
        return [loss_tracker]


# %%
def get_custom_model():
    layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
    model = CustomModel(layers)
    model.compile(optimizer=RMSprop())
    return model


prototypes = torch.randn(10, 64)
train_labels = torch.randint(0, 10, (2000,))
train_images = prototypes[train_labels] + 3.0 * torch.randn(2000, 64)

# %%
model = get_custom_model()
history = model.fit(train_images, train_labels, epochs=6, batch_size=32)
print(history)
