# https://php.bkmy88.com/faq/1835025.html
import torch
import torch.nn as nn

torch.manual_seed(0)


def accuracy(y_true, y_pred):
    return torch.eq(y_true, y_pred).sum().item() / len(y_pred) * 100


class BlobModel(nn.Module):
    def __init__(self, input_features, output_features, hidden_units=8):
        super().__init__()
        self.linear_layer_stack = nn.Sequential(
            nn.Linear(input_features, hidden_units), nn.ReLU(),
            nn.Linear(hidden_units, hidden_units), nn.ReLU(),
            nn.Linear(hidden_units, output_features))

    def forward(self, x):
        return self.linear_layer_stack(x)


# %%
centers = torch.tensor([[-4., 0.], [4., 0.], [0., 5.], [0., -5.]])
labels = torch.randint(0, 4, (200,))
X_train, y_train = centers[labels] + torch.randn(200, 2), labels

model = BlobModel(input_features=2, output_features=4)
loss_fn = nn.CrossEntropyLoss()
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
Epochs = 20
for epoch in range(Epochs):
    model.train()
    train_logits = model(X_train)
    train_preds_probs = torch.softmax(train_logits, dim=1).argmax(dim=1).type(torch.float32)
    loss = loss_fn(train_preds_probs, y_train.type(torch.float32))
    train_accu = accuracy(y_train, train_preds_probs)

    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), train_accu)
