/** Whether what was typed is where a model file is, rather than a model's name. */
export function isSource(text: string): boolean {
  return /^(hf:|https?:|wheel:)|\.gguf$/i.test(text)
}
