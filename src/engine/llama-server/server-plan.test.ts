import { expect, test } from 'vitest'
import { type ServerPlan, serverArguments } from './server-plan.ts'

const plain: ServerPlan = {
  binary: 'llama-server',
  modelPath: '/m.gguf',
  contextLength: 1000,
  slots: 4,
  flashAttention: 'auto',
  extraArguments: [],
}
const argumentsOf = (plan: Partial<ServerPlan>) => serverArguments({ ...plain, ...plan }, { port: 1, alias: 'x' })
const argumentAfter = (name: string, plan: Partial<ServerPlan>) => {
  const all = argumentsOf(plan)
  return all.includes(name) ? all[all.indexOf(name) + 1] : undefined
}

test('the experts of all layers can stay in the memory of the machine', () => {
  expect(argumentsOf({ placement: { experts: 'cpu' } })).toContain('--cpu-moe')
})

test('a server listens on loopback only, and each slot has the whole context length', () => {
  expect(argumentsOf({}).join(' ')).toBe(
    '--host 127.0.0.1 --port 1 --alias x --model /m.gguf --ctx-size 4000 --parallel 4 --flash-attn auto --jinja --slots --metrics --no-webui --no-prefill-assistant --batch-size 512',
  )
})

test.each<[name: string, value: string, plan: Partial<ServerPlan>]>([
  ['--mmproj', '/p.gguf', { mmprojPath: '/p.gguf' }],
  ['--threads', '3', { threads: 3 }],
  ['--gpu-layers', '0', { gpuLayers: 0 }],
  ['--gpu-layers', 'all', { gpuLayers: 'max' }],
  ['--gpu-layers', 'auto', { gpuLayers: 'auto' }],
  ['--n-cpu-moe', '3', { placement: { experts: 3 } }],
  ['--device', 'CUDA0,CUDA1', { placement: { devices: ['CUDA0', 'CUDA1'] } }],
  ['--tensor-split', '3,1', { placement: { tensorSplit: [3, 1] } }],
  ['--split-mode', 'none', { placement: { mainGpu: 1 } }],
  ['--main-gpu', '1', { placement: { mainGpu: 1 } }],
  ['--load-mode', 'none', { placement: { noMmap: true } }],
  ['--load-mode', 'mmap+mlock', { placement: { lock: true } }],
  ['--load-mode', 'mlock', { placement: { noMmap: true, lock: true } }],
  ['--flash-attn', 'on', { flashAttention: true }],
  ['--flash-attn', 'off', { flashAttention: false }],
  ['--cache-type-k', 'q8_0', { cacheTypeK: 'q8_0' }],
  ['--cache-type-v', 'q4_0', { cacheTypeV: 'q4_0' }],
  ['--chat-template-file', '/t.jinja', { chatTemplatePath: '/t.jinja' }],
  ['--lora', '"/a,b.gguf"', { adapters: [{ path: '/a,b.gguf', scale: 1 }] }],
  ['--lora-scaled', '"/a.gguf:0.5"', { adapters: [{ path: '/a.gguf', scale: 0.5 }] }],
  ['--cache-ram', '100', { promptCacheBytes: 100.5 * 2 ** 20 }],
  ['--cache-ram', '0', { promptCacheBytes: 2 ** 30, adapters: [{ path: '/a.gguf', scale: 1 }] }],
  ['--cache-ram', '0', { adapters: [{ path: '/a.gguf', scale: 1 }] }],
  ['--spec-draft-model', '/d.gguf', { draft: { modelPath: '/d.gguf' } }],
  ['--spec-type', 'draft-simple', { draft: { modelPath: '/d.gguf' } }],
  ['--spec-type', 'draft-mtp', { draft: { modelPath: '/d' }, extraArguments: ['--spec-type', 'draft-mtp'] }],
  ['--spec-type', 'draft-mtp', { draft: { modelPath: '/d.gguf', type: 'mtp' } }],
  ['--spec-type', 'draft-eagle3', { draft: { modelPath: '/d.gguf', type: 'eagle3' } }],
  ['--spec-type', 'draft-mtp', { speculation: { type: 'mtp', maxTokens: 2, minProbability: 0.5 } }],
  ['--spec-draft-n-max', '2', { speculation: { type: 'mtp', maxTokens: 2, minProbability: 0.5 } }],
  ['--spec-draft-p-min', '0.5', { speculation: { type: 'mtp', maxTokens: 2, minProbability: 0.5 } }],
  ['--spec-draft-n-max', '8', { draft: { modelPath: '/d', maxTokens: 8 } }],
  ['--spec-draft-n-min', '0', { draft: { modelPath: '/d', minTokens: 0 } }],
  ['--spec-draft-p-min', '0', { draft: { modelPath: '/d', minProbability: 0 } }],
  ['--spec-draft-ngl', 'all', { draft: { modelPath: '/d', gpuLayers: 'max' } }],
  ['--cache-ram', '7', { promptCacheBytes: 2 ** 30, extraArguments: ['--cache-ram', '7'] }],
  ['--numa', 'distribute', { extraArguments: ['--numa', 'distribute'] }],
])("the plan's %s becomes %s", (name, value, plan) => {
  expect(argumentAfter(name, plan)).toBe(value)
  expect(argumentAfter(name, {})).not.toBe(value)
})

test.each<[size: string | undefined, where: string, plan: Partial<ServerPlan>]>([
  ['512', 'on the CPU', { gpuLayers: 0 }],
  ['512', 'where nothing says that there is a GPU', {}],
  ['512', 'where the server looks for one', { gpuLayers: 'auto' }],
  [undefined, 'on a GPU', { gpuLayers: 'max' }],
  [undefined, 'on a GPU in part', { gpuLayers: 12 }],
  ['4096', "with the operator's own", { extraArguments: ['--batch-size', '4096'] }],
  [undefined, "with the operator's own, in another spelling", { extraArguments: ['--batch_size=4096'] }],
  [undefined, "with the operator's own short one", { extraArguments: ['-b', '64'] }],
  [undefined, "with the operator's smaller batches, which cannot be larger than these", { extraArguments: ['-ub', '2048'] }],
])('the batch size is %s %s', (size, _, plan) => {
  expect(argumentAfter('--batch-size', plan)).toBe(size)
})
