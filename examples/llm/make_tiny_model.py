"""A language model that nobody would use, of a few thousand weights, in the form of the real ones.

It takes the place of a download: hf download NAME --local-dir model, on the login side, where there is internet.
"""
import sys

import tokenizers
import torch
import transformers

torch.manual_seed(0)
words = ["<unk>", "<s>", "</s>", *"the whale is a small great cluster in one binary and it runs jobs".split()]
vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words))}
tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>",
                                     eos_token="</s>", pad_token="</s>").save_pretrained(sys.argv[1])
config = transformers.LlamaConfig(vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
                                  bos_token_id=1, eos_token_id=2)
transformers.LlamaForCausalLM(config).save_pretrained(sys.argv[1])
