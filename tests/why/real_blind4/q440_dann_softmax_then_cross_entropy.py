# https://github.com/NaJaeMin92/pytorch-DANN/issues/7
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Extractor(nn.Module):
    def __init__(self):
        super(Extractor, self).__init__()
        self.extractor = nn.Sequential(
            nn.Linear(in_features=20, out_features=48),
            nn.ReLU(),
            nn.Linear(in_features=48, out_features=48),
            nn.ReLU())

    def forward(self, x):
        return self.extractor(x)


class Classifier(nn.Module):
    def __init__(self):
        super(Classifier, self).__init__()
        self.classifier = nn.Sequential(
            nn.Linear(in_features=48, out_features=32),
            nn.ReLU(),
            nn.Linear(in_features=32, out_features=10),
            nn.Softmax(dim=1)
        )

    def forward(self, x):
        return self.classifier(x)


centres = torch.randn(10, 20) * 2


def source_batch(n=64):
    labels = torch.randint(10, (n,))
    return centres[labels] + 0.3 * torch.randn(n, 20), labels


# %%
encoder, classifier = Extractor(), Classifier()
classifier_criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(list(encoder.parameters()) + list(classifier.parameters()), lr=0.01)

for epoch in range(60):
    source_image, source_label = source_batch()
    optimizer.zero_grad()
    source_feature = encoder(source_image)
    source_pred = classifier(source_feature)
    loss = classifier_criterion(source_pred, source_label)
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 20 == 0:
        accuracy = (source_pred.argmax(1) == source_label).float().mean()
        print('Epoch [{}] Class Loss: {:.4f} acc {:.2f}'.format(epoch + 1, loss.item(), accuracy.item()))
