import {
  getLlama,
  type Llama,
  type LlamaContextSequence,
  type LlamaGrammar,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type Token,
} from 'node-llama-cpp'
import { type Done, type EngineOptions, lengthOf, type Work } from '../engines.ts'

/** The minimum cost of running a GGUF model from Node: node-llama-cpp's own loop in its own process. */
type Load = EngineOptions & { readonly type: 'load' }
type Run = Work & { readonly type: 'run' }

let llama: Llama
let model: LlamaModel
let sequences: LlamaContextSequence[] = []
const grammars = new Map<string, Promise<LlamaGrammar>>()

async function load({ modelPath, slots, contextLength, gpu }: Load): Promise<void> {
  llama = await getLlama({ gpu: gpu ? 'auto' : false, build: 'never', progressLogs: false, maxThreads: 0 })
  model = await llama.loadModel({ modelPath, gpuLayers: gpu ? 'max' : 0 })
  const context = await model.createContext({ contextSize: contextLength, sequences: slots, flashAttention: true, threads: 1 })
  sequences = Array.from({ length: slots }, () => context.getSequence())
}

async function run(work: Run): Promise<Done> {
  const { prompts, schema } = work
  await Promise.all(sequences.map((sequence) => sequence.clearHistory()))
  const startedMs = performance.now()
  const grammar = schema === undefined ? undefined : await grammarOf(schema)
  const prepared = prompts.map((prompt) => model.tokenize(prompt))
  const counts = await Promise.all(
    prepared.map((prompt, index) =>
      generate(sequences[index] as LlamaContextSequence, prompt, { tokens: lengthOf(work, index), grammar }),
    ),
  )
  const sum = (all: readonly number[]) => all.reduce((total, count) => total + count, 0)
  const ms = performance.now() - startedMs
  return { promptTokens: sum(prepared.map(({ length }) => length)), tokens: sum(counts), ms }
}

type Limits = { readonly tokens: number; readonly grammar: LlamaGrammar | undefined }

async function generate(sequence: LlamaContextSequence, prompt: Token[], { tokens, grammar }: Limits): Promise<number> {
  let count = 0
  let text = ''
  const state = grammar === undefined ? {} : { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }) }
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true, ...state })) {
    if (grammar !== undefined && model.isEogToken(token)) break
    text += model.detokenize([token])
    count += 1
    if (count >= tokens) break
  }
  if (text === '') throw new Error('the model wrote nothing')
  return count
}

/** Compiled once, as servers do. */
function grammarOf(schema: object): Promise<LlamaGrammar> {
  const key = JSON.stringify(schema)
  const grammar = grammars.get(key) ?? llama.createGrammarForJsonSchema(schema as { readonly type: 'object' })
  grammars.set(key, grammar)
  return grammar
}

process.on('message', async (message: Load | Run) => {
  try {
    process.send?.(message.type === 'load' ? ((await load(message)) ?? {}) : await run(message))
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) })
  }
})
process.on('disconnect', () => process.exit(0))
