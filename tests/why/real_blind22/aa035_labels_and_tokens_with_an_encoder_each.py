# https://github.com/TianWuYuJiangHenShou/LabelSemantics/issues/4
import torch
import torch.nn as nn
from torch.nn import CrossEntropyLoss
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)
HIDDEN = 32


class BertOutput:
    def __init__(self, last_hidden_state, pooler_output):
        self.last_hidden_state = last_hidden_state
        self.pooler_output = pooler_output


class BertModel(nn.Module):
    def __init__(self, vocab_size=60):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, HIDDEN, padding_idx=0)
        self.positions = nn.Parameter(0.02 * torch.randn(1, 64, HIDDEN))
        self.encoder = nn.TransformerEncoderLayer(HIDDEN, 4, 64, dropout=0.1, batch_first=True)
        self.pooler = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, input_ids, token_type_ids=None, attention_mask=None):
        x = self.embeddings(input_ids) + self.positions[:, :input_ids.size(1)]
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        return BertOutput(x, torch.tanh(self.pooler(x[:, 0])))


def encode_plus(text, max_length):
    ids = [1] + [2 + ord(c) % 50 for c in text] + [52]
    ids = ids + [0] * (max_length + 2 - len(ids))
    ids = torch.tensor([ids])
    return {'input_ids': ids, 'token_type_ids': torch.zeros_like(ids), 'attention_mask': (ids != 0).long()}


class FewShot_NER(nn.Module):
    def __init__(self, tag2id, batch_size, label_context):
        super().__init__()
        self.token_encoder = BertModel()
        self.label_encoder = BertModel()
        self.label_context = label_context
        self.index_context = {
            "B": "开始词",
            "I": "中间词",
        }
        self.batch_size = batch_size
        self.tag2id = tag2id
        # inference 需要这个参数
        self.register_buffer('label_representation', torch.zeros(len(tag2id), HIDDEN))

    def build_label_representation(self, tag2id):
        labels = []
        for k, v in tag2id.items():
            if k.split('-')[-1] != 'O':
                idx, label = k.split('-')[0], k.split('-')[-1]
                labels.append(self.label_context[label] + self.index_context[idx])
            else:
                labels.append("其他类别词")
        tag_max_len = max([len(l) for l in labels])
        tag_embeddings = []
        for label in labels:
            input_ids = encode_plus(label, max_length=tag_max_len)
            outputs = self.label_encoder(**input_ids)
            tag_embeddings.append(outputs.pooler_output)
        label_embeddings = torch.stack(tag_embeddings, dim=0)
        return label_embeddings.squeeze(1)

    def forward(self, inputs, flag=True):
        if flag:
            label_representation = self.build_label_representation(self.tag2id)
            self.label_representation = label_representation.detach()
        else:
            label_representation = self.label_representation
        outputs = self.token_encoder(**inputs)
        token_embeddings = outputs.last_hidden_state
        tag_lens, hidden_size = self.label_representation.shape
        current_batch_size = token_embeddings.shape[0]
        label_embedding = self.label_representation.expand(current_batch_size, tag_lens, hidden_size)
        label_embeddings = label_embedding.transpose(2, 1)
        matrix_embeddings = torch.matmul(token_embeddings, label_embeddings)
        softmax_embedding = nn.Softmax(dim=-1)(matrix_embeddings)
        label_indexs = torch.argmax(softmax_embedding, dim=-1)
        return matrix_embeddings, label_indexs


# %%
tag2id = {'B-PER': 0, 'I-PER': 1, 'B-ORG': 2, 'I-ORG': 3, 'O': 4}
bs = 8
train_ids = torch.randint(2, 52, (24, 12))
train_masks = torch.ones_like(train_ids)
train_token_type_ids = torch.zeros_like(train_ids)
train_tags = train_ids % 5
train_data = TensorDataset(train_ids, train_masks, train_token_type_ids, train_tags)
train_dataloader = DataLoader(train_data, sampler=RandomSampler(train_data), batch_size=bs)

fewshot = FewShot_NER(tag2id, bs, {'PER': '人名', 'ORG': '组织机构'})
optimizer = torch.optim.Adam(fewshot.parameters(), lr=5e-4)
loss_function = CrossEntropyLoss()
label_before = fewshot.label_encoder.pooler.weight.detach().clone()

# %%
tra_loss, steps = 0.0, 0
for i in range(3):
    fewshot.train()
    for step, batch in enumerate(train_dataloader):
        input_ids, masks, token_type_ids, labels = batch
        matrix_embeddings, label_indexs = fewshot({"input_ids": input_ids, "attention_mask": masks, "token_type_ids": token_type_ids})
        loss = loss_function(matrix_embeddings.view(-1, len(tag2id)), labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        tra_loss += loss.item()
        steps += 1
        torch.nn.utils.clip_grad_norm_(parameters=fewshot.parameters(), max_norm=1.0)
        optimizer.step()
    print("Training Loss of epoch {}:{}".format(i, tra_loss / steps))
