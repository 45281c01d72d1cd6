import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import koffi from 'koffi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheTypes, poolingTypes, ropeScalings } from '../../../src/engine/llama/binding/context-params.ts'
import { type StructName, structs, structType } from '../../../src/engine/llama/binding/layouts.ts'
import { loadSamplers } from '../../support/llama/draws.ts'

/** The sources of the release whose libraries are installed, with their headers. */
const bundle = fileURLToPath(new URL('../../../node_modules/node-llama-cpp/llama/gitRelease.bundle', import.meta.url))
const missing = [
  ...['git', 'tar', 'cc'].filter((program) => spawnSync(program, ['--version']).status !== 0),
  ...(existsSync(bundle) ? [] : [bundle]),
]
const hint = missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')} is missing)`

const names = Object.keys(structs) as StructName[]
const fieldsOf = (name: StructName): string[] => Object.keys(structs[name])
const enums = [
  ...Object.entries(cacheTypes).map(([name, value]) => [`GGML_TYPE_${name.toUpperCase()}`, value] as const),
  ...Object.entries(poolingTypes).map(([name, value]) => [`LLAMA_POOLING_TYPE_${name.toUpperCase()}`, value] as const),
  ...Object.entries(ropeScalings).map(([name, value]) => [`LLAMA_ROPE_SCALING_TYPE_${name.toUpperCase()}`, value] as const),
]

describe.skipIf(missing.length > 0)(`what C code sees in llama.cpp's headers is what the binding assumes${hint}`, () => {
  let folder: string
  let found: Map<string, number>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-layouts-'))
    const [sources, program, headers] = [join(folder, 'sources'), join(folder, 'layouts.c'), join(folder, 'headers.tar')]
    execFileSync('git', ['clone', '--quiet', '--bare', bundle, sources])
    execFileSync('git', ['-C', sources, 'archive', '--output', headers, 'HEAD', 'include', 'ggml/include', 'tools/mtmd'])
    execFileSync('tar', ['-xf', headers, '-C', folder])
    await writeFile(program, source())
    const includes = ['include', 'ggml/include', 'tools/mtmd'].map((path) => `-I${join(folder, path)}`)
    execFileSync('cc', [...includes, '-o', join(folder, 'layouts'), program])
    const output = execFileSync(join(folder, 'layouts'), { encoding: 'utf8' })
    found = new Map(output.split('\n').map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]))
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(names)('the struct %s', (name) => {
    const type = structType(name)
    const offsets = Object.fromEntries(fieldsOf(name).map((field) => [field, found.get(`${name}.${field}`)]))
    expect(Object.fromEntries(fieldsOf(name).map((field) => [field, koffi.offsetof(type, field)]))).toEqual(offsets)
    expect(koffi.sizeof(type)).toBe(found.get(name))
  })

  test.each(enums)('%s is %i', (name, value) => {
    expect(found.get(name)).toBe(value)
  })
})

/** What the functions `llama_*_default_params` of the release return, where zero would say little: a shifted field has another value. */
const defaults = {
  llama_model_params: {
    devices: null,
    n_gpu_layers: -1,
    split_mode: 1,
    load_mode: -1,
    lazy_mode: 1,
    main_gpu: 0,
    tensor_split: null,
    kv_overrides: null,
    vocab_only: false,
    use_extra_bufts: true,
    no_host: false,
    load_mtp: false,
  },
  llama_context_params: {
    n_ctx: 512,
    n_batch: 2048,
    n_ubatch: 512,
    n_seq_max: 1,
    n_outputs_max: 0,
    n_outputs_max_per_seq: 1,
    n_threads: 4,
    n_threads_batch: 4,
    ctx_type: 0,
    rope_scaling_type: -1,
    pooling_type: -1,
    attention_type: -1,
    flash_attn_type: -1,
    rope_freq_scale: 0,
    yarn_ext_factor: -1,
    yarn_beta_slow: -1,
    yarn_orig_ctx: 0,
    defrag_thold: -1,
    cb_eval: null,
    type_k: 1,
    type_v: 1,
    abort_callback: null,
    embeddings: false,
    offload_kqv: true,
    op_offload: true,
    swa_full: true,
    kv_unified: false,
    samplers: null,
    n_samplers: 0,
    ctx_other: null,
  },
} as const satisfies Partial<Record<StructName, Readonly<Record<string, unknown>>>>

test("the library that is loaded has the release's default parameters", async () => {
  const library = await loadSamplers()
  expect(library.modelDefaults()).toMatchObject(defaults.llama_model_params)
  expect(library.contextDefaults()).toMatchObject(defaults.llama_context_params)
})

function source(): string {
  const print = (label: string, value: string) => `  printf("${label} %ld\\n", (long) ${value});`
  const lines = names.flatMap((name) => [
    print(name, `sizeof(struct ${name})`),
    ...fieldsOf(name).map((field) => print(`${name}.${field}`, `offsetof(struct ${name}, ${field})`)),
  ])
  return [
    '#include <stddef.h>',
    '#include <stdio.h>',
    '#include "llama.h"',
    '#include "mtmd.h"',
    '#include "mtmd-helper.h"',
    'int main(void) {',
    ...lines,
    ...enums.map(([name]) => print(name, name)),
    '  return 0;',
    '}',
  ].join('\n')
}
