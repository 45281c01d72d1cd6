import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp'
import { llamaOptions } from '../../../src/engine/llama/worker/context/context.ts'

/** What llama.cpp makes of a model file; `generated` holds the tokens of two runs with equal settings. */
export type ModelReport = {
  readonly trainContextSize: number
  readonly chatTemplate: string | undefined
  readonly endToken: number | null
  readonly roundTrips: readonly { readonly text: string; readonly tokens: readonly number[]; readonly back: string }[]
  readonly generated: readonly (readonly number[])[]
  readonly greedy: readonly number[]
}

/** Forked with a model's path and texts: loads the model, tries it and sends one report to the parent. */
async function report(modelPath: string, texts: readonly string[]): Promise<ModelReport> {
  const llama = await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })
  const model = await llama.loadModel({ modelPath })
  const context = await model.createContext({ contextSize: 256, threads: 1 })
  const sequence = context.getSequence()

  const generate = async (temperature: number): Promise<number[]> => {
    await sequence.clearHistory()
    const prompt = model.tokenize('<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n', true)
    const generated: Token[] = []
    for await (const token of sequence.evaluate(prompt, { temperature, seed: 1, yieldEogToken: true })) {
      if (generated.push(token) === 32) break
    }
    return generated
  }

  return {
    trainContextSize: model.trainContextSize,
    chatTemplate: model.fileInfo.metadata.tokenizer?.chat_template,
    endToken: model.tokens.eos,
    roundTrips: texts.map((text) => {
      const tokens = model.tokenize(text, true)
      return { text, tokens, back: model.detokenize(tokens, true) }
    }),
    generated: [await generate(1), await generate(1)],
    greedy: await generate(0),
  }
}

const [modelPath = '', ...texts] = process.argv.slice(2)
const result = await report(modelPath, texts)
process.send?.(result, () => process.exit(0))
