# https://github.com/huggingface/sentence-transformers/issues/255
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SentenceTransformer(nn.Module):
    """Word embeddings, a layer and mean pooling; encode() is for inference."""

    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.bert = nn.Linear(dim, dim)

    def forward(self, features):
        return {"sentence_embedding": torch.tanh(self.bert(self.word_embeddings(features["input_ids"]))).mean(1)}

    def tokenize(self, sentences):
        return {"input_ids": torch.stack(sentences)}

    def encode(self, sentences, convert_to_numpy=True):
        self.eval()
        all_embeddings = []
        with torch.no_grad():
            all_embeddings.extend(self.forward(self.tokenize(sentences))["sentence_embedding"])
        if convert_to_numpy:
            all_embeddings = [emb.numpy() for emb in all_embeddings]
        return all_embeddings


class ParagraphClassifier(nn.Module):
    def __init__(self, sentence_encoder, dim=24, classes=3):
        super().__init__()
        self.sentence_encoder = sentence_encoder
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, batch_of_paragraphs):
        src_tensors = []
        for paragraph in batch_of_paragraphs:
            paragraph_tensor = self.sentence_encoder.encode(paragraph, convert_to_numpy=False)
            paragraph_tensor = torch.stack(paragraph_tensor)
            src_tensors.append(paragraph_tensor)
        src_tensors = torch.stack(src_tensors)
        pooled = src_tensors.mean(dim=1)
        return self.fc2(F.relu(self.fc1(pooled)))


def make_batch(n=8):
    labels = torch.randint(0, 3, (n,))
    return [[torch.randint(0, 16, (7,)) + 16 * int(label) for _ in range(5)] for label in labels], labels


# %%
model = ParagraphClassifier(SentenceTransformer())
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(20):
    model.train()
    batch_of_paragraphs, labels = make_batch()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(batch_of_paragraphs), labels)
    loss.backward()
    optimizer.step()
print(loss.item(), model.sentence_encoder.bert.weight.grad)
