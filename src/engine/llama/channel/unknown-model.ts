const tooOld = 'this version of llama.cpp does not know it'

/** The end of a load error, if its reason is that llama.cpp does not know the kind of model. */
export function unknownModelHint(reason: string): string {
  if (!/^unknown model architecture|unknown pre-tokenizer type/.test(reason)) return ''
  return `; ${tooOld}: \`dragoman runtime get\` fetches the newest, and the model then runs on its llama-server`
}

/** Whether a model failed to load because this llama.cpp does not know its kind. */
export function isUnknownModel(failure: string): boolean {
  return failure.includes(tooOld)
}
