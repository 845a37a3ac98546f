"""Answers a file of prompts, a line each, with a model that is on disk. Nothing is fetched: jobs may have no internet."""
import json
import sys

import torch
import transformers

model_path, prompts, answers = sys.argv[1:4]
device = "cuda" if torch.cuda.is_available() else "cpu"
tokenizer = transformers.AutoTokenizer.from_pretrained(model_path, local_files_only=True)
model = transformers.AutoModelForCausalLM.from_pretrained(model_path, local_files_only=True, torch_dtype="auto").to(device).eval()
with open(prompts) as questions, open(answers, "w") as out:
    for prompt in questions.read().splitlines():
        tokens = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False).to(device)
        with torch.inference_mode():
            made = model.generate(**tokens, max_new_tokens=12, do_sample=False)
        out.write(json.dumps({"prompt": prompt, "answer": tokenizer.decode(made[0][tokens.input_ids.shape[1]:])}) + "\n")
