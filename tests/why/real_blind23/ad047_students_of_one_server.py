# https://github.com/zerocpp/fedhkd/issues/2
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CNNMnist(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 4 * 4, 32)
        self.fc2 = nn.Linear(32, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def make_digits(n, prototypes):
    labels = torch.randint(0, 10, (n,))
    return prototypes[labels] + 0.4 * torch.randn(n, 1, 8, 8), labels


def average_weights(w):
    w_avg = copy.deepcopy(w[0])
    for key in w_avg:
        for i in range(1, len(w)):
            w_avg[key] += w[i][key]
        w_avg[key] = w_avg[key] / len(w)
    return w_avg


class LocalUpdate:
    def __init__(self, data, public_images, model, lr=3e-3, temperature=2.0):
        self.images, self.labels = data
        self.public_images = public_images
        self.model = model
        self.temperature = temperature
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def update_weights(self, consensus, local_ep=4, batch_size=32):
        self.model.train()
        for _ in range(local_ep):
            order = torch.randperm(len(self.labels))
            for idx in order.split(batch_size):
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(self.images[idx]), self.labels[idx])
                if consensus is not None:
                    student = F.log_softmax(self.model(self.public_images) / self.temperature, dim=1)
                    loss = loss + F.kl_div(student, consensus, reduction="batchmean")
                loss.backward()
                self.optimizer.step()
        return copy.deepcopy(self.model.state_dict()), loss.item()

    def soft_labels(self):
        self.model.eval()
        with torch.no_grad():
            return F.softmax(self.model(self.public_images) / self.temperature, dim=1)


class FedMD:
    def __init__(self, user_data, public_images, test_data, global_model):
        self.global_model = global_model
        self.test_images, self.test_labels = test_data
        self.clients = [LocalUpdate(data, public_images, copy.deepcopy(global_model)) for data in user_data]

    def test_inference(self, model):
        model.eval()
        with torch.no_grad():
            pred = model(self.test_images).argmax(1)
        return (pred == self.test_labels).float().mean().item()

    def train(self, rounds):
        consensus = None
        for round_idx in range(rounds):
            local_weights, local_losses = [], []
            for client in self.clients:
                w, loss = client.update_weights(consensus)
                local_weights.append(w)
                local_losses.append(loss)
            consensus = torch.stack([client.soft_labels() for client in self.clients]).mean(0)
            global_weights = average_weights(local_weights)
            acc = self.test_inference(self.global_model)
            print(round_idx, "loss", sum(local_losses) / len(local_losses), "global test accuracy", acc)
        return acc


# %%
prototypes = torch.randn(10, 1, 8, 8)
user_data = [make_digits(128, prototypes) for _ in range(3)]
public_images, _ = make_digits(32, prototypes)
test_data = make_digits(400, prototypes)
server = FedMD(user_data, public_images, test_data, CNNMnist())

# %%
accuracy = server.train(rounds=6)
local_accuracy = [server.test_inference(client.model) for client in server.clients]
print("global", accuracy, "local", local_accuracy)
