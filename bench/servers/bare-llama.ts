import { getLlama, type LlamaContextSequence, type LlamaModel, type Token } from 'node-llama-cpp'

/** The minimum cost of serving a GGUF model: node-llama-cpp's own loop in its own process. */
type Load = { type: 'load'; modelPath: string; slots: number; contextLength: number; threads: number }
type Run = { type: 'run'; prompts: string[]; tokens: number }

let model: LlamaModel
let sequences: LlamaContextSequence[] = []

async function load({ modelPath, slots, contextLength, threads }: Load): Promise<void> {
  const llama = await getLlama({ gpu: 'auto', build: 'never', progressLogs: false, maxThreads: 0 })
  model = await llama.loadModel({ modelPath })
  const context = await model.createContext({ contextSize: contextLength, sequences: slots, flashAttention: true, threads })
  sequences = Array.from({ length: slots }, () => context.getSequence())
}

async function run({ prompts, tokens }: Run): Promise<number> {
  const prepared = prompts.map((prompt) => model.tokenize(chatMl(prompt), true))
  await Promise.all(sequences.map((sequence) => sequence.clearHistory()))
  const startedMs = performance.now()
  const counts = await Promise.all(
    prepared.map((prompt, index) => generate(sequences[index] as LlamaContextSequence, prompt, tokens)),
  )
  return (counts.reduce((sum, count) => sum + count, 0) / (performance.now() - startedMs)) * 1000
}

async function generate(sequence: LlamaContextSequence, prompt: Token[], tokens: number): Promise<number> {
  let count = 0
  let text = ''
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    text += model.detokenize([token])
    count += 1
    if (count >= tokens) break
  }
  return text === '' ? 0 : count
}

function chatMl(prompt: string): string {
  const system = 'You are a helpful AI assistant named SmolLM, trained by Hugging Face'
  return `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n`
}

process.on('message', async (message: Load | Run) => {
  if (message.type === 'load') {
    await load(message)
    process.send?.({ type: 'loaded' })
  } else process.send?.({ tokensPerSecond: await run(message) })
})
process.on('disconnect', () => process.exit(0))
