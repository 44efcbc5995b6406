# https://github.com/sicara/easy-few-shot-learning/issues/40
import random

import numpy as np
import torch
from torch import nn
from torch.optim import SGD

random_seed = 0
np.random.seed(random_seed)
torch.manual_seed(random_seed)
random.seed(random_seed)

n_way = 2
n_shot = 3
n_query = 2
DEVICE = "cpu"


class FewShotClassifier(nn.Module):
    def __init__(self, backbone, use_softmax=False):
        super().__init__()
        self.backbone = backbone
        self.use_softmax = use_softmax
        self.prototypes = None
        self.support_features = None
        self.support_labels = None

    def process_support_set(self, support_images, support_labels):
        self.support_labels = support_labels
        self.support_features = self.backbone(support_images)
        self.prototypes = torch.cat([self.support_features[torch.nonzero(support_labels == label)].mean(0)
                                     for label in range(len(torch.unique(support_labels)))])

    def cosine_distance_to_prototypes(self, samples):
        return nn.functional.normalize(samples, dim=1) @ nn.functional.normalize(self.prototypes, dim=1).T

    def softmax_if_specified(self, output):
        return output.softmax(-1) if self.use_softmax else output


class PrototypicalNetworks(FewShotClassifier):
    def forward(self, query_images):
        z_query = self.backbone.forward(query_images)
        return self.softmax_if_specified(-torch.cdist(z_query, self.prototypes))


class Finetune(FewShotClassifier):
    """Fine-tune prototypes based on classification error on support images."""

    def __init__(self, *args, fine_tuning_steps=10, fine_tuning_lr=1e-3, **kwargs):
        super().__init__(*args, **kwargs)
        # Since we fine-tune the prototypes we need to make them leaf variables
        # i.e. we need to freeze the backbone.
        self.backbone.requires_grad_(False)
        self.fine_tuning_steps = fine_tuning_steps
        self.fine_tuning_lr = fine_tuning_lr

    def forward(self, query_images):
        query_features = self.backbone.forward(query_images)
        with torch.enable_grad():
            self.prototypes.requires_grad_()
            optimizer = torch.optim.Adam([self.prototypes], lr=self.fine_tuning_lr)
            for _ in range(self.fine_tuning_steps):
                support_logits = self.cosine_distance_to_prototypes(self.support_features)
                loss = nn.functional.cross_entropy(support_logits, self.support_labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return self.softmax_if_specified(
            self.cosine_distance_to_prototypes(query_features)
        ).detach()


# %%
convolutional_network = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
few_shot_classifier = Finetune(convolutional_network).to(DEVICE)

LOSS_FUNCTION = nn.CrossEntropyLoss()
train_optimizer = SGD(convolutional_network.parameters(), lr=1e-2, momentum=0.9, weight_decay=5e-4)
support_labels = torch.arange(n_way).repeat_interleave(n_shot)
query_labels = torch.arange(n_way).repeat_interleave(n_query)
train_loader = [(torch.rand(n_way * n_shot, 3, 12, 12), support_labels, torch.rand(n_way * n_query, 3, 12, 12), query_labels)
                for _ in range(3)]


def training_epoch(model, data_loader, optimizer):
    all_loss = []
    model.train()
    for support_images, support_labels, query_images, query_labels in data_loader:
        optimizer.zero_grad()
        model.process_support_set(support_images.to(DEVICE), support_labels.to(DEVICE))
        classification_scores = model(query_images.to(DEVICE))

        loss = LOSS_FUNCTION(classification_scores, query_labels.to(DEVICE))
        loss.backward()
        optimizer.step()
        all_loss.append(loss.item())
    return np.mean(all_loss)


# %%
for epoch in range(2):
    average_loss = training_epoch(few_shot_classifier, train_loader, train_optimizer)
    print(f"Epoch {epoch}: {average_loss}")
