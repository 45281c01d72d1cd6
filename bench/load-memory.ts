// node --expose-gc --import tsx bench/load-memory.ts [LOADS]: the memory of a process that loads and unloads dragoman-tiny again and again, with
// two sequences, samplers and passes each time. It should be level after the first hundred.
import { readFileSync } from 'node:fs'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { Model } from '../src/engine/llama/binding/model.ts'
import { SamplerChain } from '../src/engine/llama/binding/sampler-chain.ts'
import type { Token } from '../src/engine/llama/binding/tokenizer.ts'
import { resolveSampling } from '../src/engine/llama/channel/resolve-sampling.ts'
import { llamaOptions, openContext } from '../src/engine/llama/worker/context/context.ts'
import { samplerSteps } from '../src/engine/llama/worker/sampling/sampling.ts'
import { builtinModel } from '../src/registry/names/builtin-model.ts'

const loads = Number(process.argv[2] ?? 1000)
const contextSize = 512
const sampling = resolveSampling({
  request: { temperature: 1, seed: 1, topK: 5, repetitionPenalty: 1.1, dry: { multiplier: 1 } },
})
const biases = new Map([[3, 1]])
const llama = await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })

for (let load = 0; load <= loads; load++) {
  await loadAndGenerate()
  if (load % 100 !== 0) continue
  globalThis.gc?.()
  const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1])
  console.log(`${load} loads: ${((pages * 4096) / 2 ** 20).toFixed(1)} MiB`)
}
process.exit(0)

async function loadAndGenerate(): Promise<void> {
  const model = await Model.load(llama, { modelPath: builtinModel.path, gpuLayers: 0 })
  const { context, sequences } = await openContext(model, { contextSize, threads: 1, slots: 2, flashAttention: true })
  const prompt = model.tokenize('The cat sat on the')
  const allowed = new Uint32Array(Math.ceil(model.size / 32)).fill(-1)
  for (const sequence of sequences) {
    const chain = new SamplerChain(
      model,
      samplerSteps(sampling, { model, prompt: Uint32Array.from(prompt), contextLength: contextSize }),
    )
    let unread: readonly Token[] = prompt
    for (let count = 0; count < 4; count++) {
      const token = await sequence.computeLast(unread, (index) => {
        if (count % 2 === 0) return chain.sample(context, index, biases)
        const peeked = chain.peek(context.logits(index), { biases, allowed })
        chain.accept(peeked)
        return peeked
      })
      unread = [token]
    }
    chain.free()
  }
  await model.dispose()
}
