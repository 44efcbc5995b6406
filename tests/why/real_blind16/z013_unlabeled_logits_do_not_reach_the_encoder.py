# https://github.com/Impavidity/relogic/pull/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

SKIP_LOSS_TASK = ["encoding"]


class Inference(nn.Module):
    def __init__(self, vocab_size=40, hidden_size=16, n_labels=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.encoder = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.ner = nn.Linear(hidden_size, n_labels)

    def decoding(self, features, task_name):
        return features if task_name == "encoding" else self.ner(features)

    def forward(self, task_name, input_ids, label_ids=None):
        outputs_dict = {}
        features, _ = self.encoder(self.embedding(input_ids))
        for task_name in task_name.split(','):
            logits = self.decoding(features=features, task_name=task_name)
            if label_ids is not None:
                if task_name not in SKIP_LOSS_TASK:
                    loss = F.cross_entropy(logits.transpose(1, 2), label_ids)
                    outputs_dict[task_name] = {"loss": loss, "logits": logits}
                else:
                    outputs_dict[task_name] = {"logits": logits}
            else:
                outputs_dict[task_name] = {"logits": logits.detach()}
        return outputs_dict


class Adversarial(nn.Module):
    def __init__(self, hidden_size=16, scale=0.1):
        super().__init__()
        self.discriminator = nn.Linear(hidden_size, 1)
        self.optim = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3)
        self.criterion = nn.BCEWithLogitsLoss()
        self.real, self.fake, self.scale = 1, 0, scale

    def loss(self, input, label):
        output = self.discriminator(torch.mean(input, dim=1))
        label = torch.empty(*output.size()).fill_(label).type_as(output)
        return output, self.criterion(output, label)

    def update(self, real_in, fake_in):
        self.optim.zero_grad()
        _, real_loss = self.loss(real_in, self.real)
        _, fake_loss = self.loss(fake_in, self.fake)
        (0.5 * (real_loss + fake_loss)).backward()
        self.optim.step()
        return real_loss.item(), fake_loss.item()

    def gen_loss(self, real_in, fake_in):
        """The basic idea is to minimize the loss that can confuse the Discriminator
        to make a wrong decision."""
        _, loss = self.loss(fake_in, self.real)
        return self.scale * loss


# %%
model = Inference()
adversarial_agent = Adversarial()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(10):
    labeled, unlabeled = torch.randint(0, 20, (8, 6)), torch.randint(20, 40, (8, 6))
    label_ids = labeled % 5
    # train_discriminator
    labeled_features = model("encoding", labeled)
    unlabeled_features = model("encoding", unlabeled)
    adversarial_agent.update(
        labeled_features["encoding"]["logits"].detach(), unlabeled_features["encoding"]["logits"].detach())
    # train_generator
    labeled_outputs = model("ner,encoding", labeled, label_ids)
    unlabeled_outputs = model("encoding", unlabeled)
    discriminator_loss = adversarial_agent.gen_loss(
        labeled_outputs["encoding"]["logits"], unlabeled_outputs["encoding"]["logits"])
    loss = labeled_outputs["ner"]["loss"] + discriminator_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, labeled_outputs["ner"]["loss"].item(), discriminator_loss.item())
