// npm run architectures [-- PATTERN]: makes random models of forty architectures with llama.cpp's own test of architectures, which comes with
// node-llama-cpp, and compares the embedded engine with a llama-server on each. Needs git, g++, a built llama-server, Linux on x64; minutes.
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeGguf } from '../test/support/llama/gguf-writer.ts'
import { vocabularyOfModel } from '../test/support/llama/random-architectures.ts'
import { randomVocabulary } from '../test/support/llama/random-vocabulary.ts'

const architectures = [
  ...[
    'llama',
    'qwen2',
    'qwen3',
    'qwen3moe',
    'qwen3next',
    'qwen35',
    'qwen35moe',
    'gemma2',
    'gemma3',
    'gemma3n',
    'gpt-oss',
    'glm4',
  ],
  ...[
    'glm4moe',
    'deepseek2',
    'deepseek4',
    'lfm2',
    'lfm2moe',
    'granite',
    'granitehybrid',
    'nemotron_h',
    'mistral3',
    'phi3',
    'llama4',
  ],
  ...['cohere2', 'falcon-h1', 'minimax-m2', 'hunyuan-dense', 'mamba', 'mamba2', 'jamba', 'olmo2', 'smollm3', 'exaone4'],
  ...['kimi-linear', 'seed_oss', 'ernie4_5-moe', 'bailingmoe2', 'rwkv6', 'rwkv7', 'plamo2', 'qwen2moe'],
]

const root = join(import.meta.dirname, '..')
const packages = join(root, 'node_modules')
const libraries = join(packages, '@node-llama-cpp', 'linux-x64', 'bins', 'linux-x64')
const work = mkdtempSync(join(tmpdir(), 'dragoman-architectures-'))
process.once('exit', () => rmSync(work, { recursive: true, force: true }))
const sources = join(work, 'sources')
const models = join(work, 'models')
const program = join(work, 'make-model')
const vocabulary = join(work, 'vocabulary.gguf')

must('git', ['clone', '--quiet', join(packages, 'node-llama-cpp', 'llama', 'gitRelease.bundle'), sources])
buildMaker()
mkdirSync(models)
writeFileSync(vocabulary, encodeGguf(new Map(vocabularyOfModel(randomVocabulary())), []))
const pattern = new RegExp(process.argv[2] ?? '')
for (const name of architectures.filter((architecture) => pattern.test(architecture))) {
  const args = ['--arch', name, '--seed', '1', '--out', models]
  const { status } = spawnSync(program, args, { env: { ...process.env, VOCABULARY: vocabulary }, timeout: 60_000 })
  if (status !== 0) process.stderr.write(`${name}: llama.cpp does not make it\n`)
}
const env = { ...process.env, ARCHITECTURES: models }
const args = ['vitest', 'run', '--project', 'e2e', 'test/e2e/llama/architectures.test.ts']
process.exitCode = spawnSync('npx', args, { cwd: root, stdio: 'inherit', env }).status ?? 1

/** The test with a longer context, our vocabulary, and without a context, for which the metadata of some lacks fields. */
function buildMaker(): void {
  const original = join(sources, 'tests', 'test-llama-archs.cpp')
  const changes: readonly [string, string][] = [
    ['const uint32_t n_ctx = 256;', 'const uint32_t n_ctx = 65536;'],
    ['n_ctx/8', 'uint32_t(512)'],
    ['uint32_t n_vocab = 128;', `uint32_t n_vocab = ${randomVocabulary().tokens.length};`],
    ['int main(int argc, char ** argv) {', `int main(int argc, char ** argv) { ggml_backend_load_all_from_path("${libraries}");`],
    [
      'llama_context_ptr lctx(llama_init_from_model(model.get(), ctx_params));\n    if (!lctx) {',
      'llama_context_ptr lctx;\n    if (false) {',
    ],
  ]
  let code = readFileSync(original, 'utf8')
  for (const [from, to] of changes) {
    if (!code.includes(from)) throw new Error(`llama.cpp's test of architectures has no '${from}' any more`)
    code = code.replace(from, () => to)
  }
  writeFileSync(original, code)
  const include = ['include', 'ggml/include', 'common', 'vendor', 'src'].flatMap((folder) => ['-I', join(sources, folder)])
  const files = [original, join(root, 'test', 'llama-cpp', 'save-model.cpp')]
  const linked = globSync(join(libraries, 'lib{llama*,ggml.*,ggml-base}.so'))
  const linking = [`-Wl,-rpath,${libraries}`, '-Wl,--allow-shlib-undefined', '-lpthread', '-ldl']
  must('g++', [
    '-std=c++17',
    '-w',
    '-rdynamic',
    '-DLLAMA_SHARED',
    '-DGGML_SHARED',
    ...include,
    '-o',
    program,
    ...files,
    ...linked,
    ...linking,
  ])
}

function must(command: string, args: readonly string[]): void {
  if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) throw new Error(`${command} failed`)
}
