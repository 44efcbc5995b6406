# https://github.com/huggingface/sentence-transformers/issues/2872
import torch
from torch import nn

torch.manual_seed(0)


class SentenceTransformer(nn.Module):
    def __init__(self, vocab_size=100, dim=16):
        super().__init__()
        self.embeddings = nn.EmbeddingBag(vocab_size, dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, features):
        return {"sentence_embedding": torch.tanh(self.dense(self.embeddings(features["input_ids"])))}


class SoftmaxLoss(nn.Module):
    def __init__(self, model, sentence_embedding_dimension, num_labels):
        super().__init__()
        self.model = model
        self.num_labels = num_labels
        self.classifier = nn.Linear(3 * sentence_embedding_dimension, num_labels)
        self.loss_fct = nn.CrossEntropyLoss()

    def forward(self, sentence_features, labels):
        reps = [self.model(features)["sentence_embedding"] for features in sentence_features]
        rep_a, rep_b = reps
        features = torch.cat([rep_a, rep_b, torch.abs(rep_a - rep_b)], 1)
        output = self.classifier(features)
        return self.loss_fct(output, labels.view(-1))


class SentenceTransformerTrainer:
    def __init__(self, model, train_dataset, loss, learning_rate=1e-2, num_train_epochs=3, batch_size=16):
        self.model = model
        self.train_dataset = train_dataset
        self.loss = loss
        self.learning_rate = learning_rate
        self.num_train_epochs = num_train_epochs
        self.batch_size = batch_size
        self.optimizer = None

    def create_optimizer(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.learning_rate)

    def get_train_dataloader(self):
        a, b, labels = self.train_dataset
        for idx in torch.randperm(len(labels)).split(self.batch_size):
            yield [{"input_ids": a[idx]}, {"input_ids": b[idx]}], labels[idx]

    def compute_loss(self, sentence_features, labels):
        return self.loss(sentence_features, labels)

    def train(self):
        self.create_optimizer()
        for epoch in range(self.num_train_epochs):
            for sentence_features, labels in self.get_train_dataloader():
                loss = self.compute_loss(sentence_features, labels)
                self.optimizer.zero_grad()
                self.loss.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


premise = torch.randint(0, 100, (128, 6))
hypothesis = torch.randint(0, 100, (128, 6))
label = torch.randint(0, 3, (128,))

# %%
model = SentenceTransformer()
softmax_loss = SoftmaxLoss(model, 16, 3)
before = softmax_loss.classifier.weight.detach().clone()
print(softmax_loss.classifier.weight)

trainer = SentenceTransformerTrainer(model=model, train_dataset=(premise, hypothesis, label), loss=softmax_loss)
trainer.train()
print(softmax_loss.classifier.weight)
