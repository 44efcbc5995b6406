# https://github.com/gitabcworld/MatchingNetworks/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def conv_block(n_in, n_out):
    return nn.Sequential(nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(), nn.MaxPool2d(2))


class Classifier(nn.Module):
    def __init__(self, num_channels=1, layer_size=32):
        super().__init__()
        self.blocks = nn.Sequential(conv_block(num_channels, layer_size), conv_block(layer_size, layer_size))

    def forward(self, images):
        return self.blocks(images).flatten(1)


class DistanceNetwork(nn.Module):
    """The cosine, but for the length of the target's embedding."""

    def forward(self, support_set, input_image):
        unit = F.normalize(support_set, dim=-1, eps=1e-5)
        return torch.einsum("bsd,bd->bs", unit, input_image)


class AttentionalClassify(nn.Module):
    def forward(self, similarities, support_set_y):
        attention = torch.softmax(similarities, dim=1)
        return torch.einsum("bs,bsc->bc", attention, support_set_y)


class MatchingNetwork(nn.Module):
    def __init__(self, num_channels=1):
        super().__init__()
        self.g = Classifier(num_channels)
        self.dn = DistanceNetwork()
        self.classify = AttentionalClassify()

    def forward(self, support_set_images, support_set_labels_one_hot, target_image, target_label):
        batch, n_support = support_set_images.shape[:2]
        embedded = self.g(torch.cat([support_set_images.flatten(0, 1), target_image]))
        support, target = embedded.split([batch * n_support, batch])
        similarities = self.dn(support.view(batch, n_support, -1), target)
        preds = self.classify(similarities, support_set_labels_one_hot)
        accuracy = (preds.argmax(dim=1) == target_label).float().mean()
        return accuracy, F.cross_entropy(preds, target_label)


# %%
classes_per_set, batch_size = 5, 16
alphabet = torch.randn(20, 1, 12, 12)


def get_batch():
    support, targets, labels = [], [], []
    for _ in range(batch_size):
        chosen = torch.randperm(20)[:classes_per_set]
        label = torch.randint(0, classes_per_set, (1,))
        support.append(alphabet[chosen] + 0.2 * torch.randn(classes_per_set, 1, 12, 12))
        targets.append(alphabet[chosen[label]][0] + 0.2 * torch.randn(1, 12, 12))
        labels.append(label)
    one_hot = torch.eye(classes_per_set).expand(batch_size, -1, -1)
    return torch.stack(support), one_hot, torch.stack(targets), torch.cat(labels)


# %%
matchingNet = MatchingNetwork()
optimizer = torch.optim.Adam(matchingNet.parameters(), lr=1e-3)
losses, accuracies = [], []
for i in range(60):
    x_support_set, y_support_set, x_target, y_target = get_batch()
    acc, c_loss = matchingNet(x_support_set, y_support_set, x_target, y_target)
    optimizer.zero_grad()
    c_loss.backward()
    optimizer.step()
    losses.append(c_loss.item())
    accuracies.append(acc.item())
    if i % 10 == 0:
        print("tr_loss: {} tr_accuracy: {}".format(losses[-1], accuracies[-1]))
