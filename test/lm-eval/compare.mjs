// node test/lm-eval/compare.mjs SERVER MODEL TOKENIZER: runs log-likelihood tasks of lm-evaluation-harness against a server of completions, such as
// http://127.0.0.1:8000/v1, directly and through Dragoman, with prompts as tokens and as texts, and compares every figure. TOKENIZER is a folder with the
// model's tokenizer. Needs what is built, and `lm_eval` (pip: lm-eval[api]) in PATH. Ends with 1 when a figure differs.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fail, root, say } from '../../scripts/commands.mjs'

const [server, model, tokenizer] = process.argv.slice(2)
if (tokenizer === undefined) fail('node test/lm-eval/compare.mjs SERVER MODEL TOKENIZER')
const work = mkdtempSync(join(tmpdir(), 'lm-eval-'))
const dragoman = await startDragoman()
process.once('exit', () => {
  dragoman.child.kill('SIGKILL')
  rmSync(work, { recursive: true, force: true })
})
const tasks = join(work, 'tasks')
cpSync(join(root, 'test', 'lm-eval'), tasks, { recursive: true })
for (const name of readdirSync(tasks).filter((name) => name.endsWith('.yaml'))) {
  const file = join(tasks, name)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('FOLDER', tasks))
}

let differences = 0
for (const prompts of ['tokens', 'texts']) {
  const direct = evaluate(`direct-${prompts}`, server, prompts)
  const through = evaluate(`through-${prompts}`, dragoman.url, prompts)
  if (direct.size === 0) fail('lm_eval has recorded no samples')
  for (const [name, figure] of direct) {
    if (through.get(name) === figure) continue
    differences += 1
    process.stdout.write(`${prompts}: ${name}: ${figure} directly, ${through.get(name)} through Dragoman\n`)
  }
  process.stdout.write(`prompts as ${prompts}: ${direct.size} figures, ${through.size} through Dragoman\n`)
}
process.stdout.write(`${differences} differ\n`)
process.exit(differences === 0 ? 0 : 1)

/** The figures of all tasks and of each of their requests, by name, as texts. */
function evaluate(name, url, prompts) {
  say(`${name}: ${url}`)
  const folder = join(work, name)
  const given = { model, base_url: `${url}/completions`, tokenizer_backend: 'huggingface', tokenizer, num_concurrent: 1 }
  const settings = { ...given, max_retries: 1, max_length: 1024, tokenized_requests: prompts === 'tokens' ? 'True' : 'False' }
  const modelArgs = Object.entries(settings).map(([key, value]) => `${key}=${value}`)
  const args = ['--model', 'local-completions', '--model_args', modelArgs.join(), '--tasks', 'own_choices,own_perplexity']
  const env = { ...process.env, HF_HUB_OFFLINE: '1', HF_DATASETS_CACHE: join(work, 'datasets') }
  const more = ['--include_path', tasks, '--output_path', folder, '--log_samples', '--batch_size', '1']
  execFileSync('lm_eval', [...args, ...more], { stdio: ['ignore', 'ignore', 'inherit'], env })
  const figures = new Map()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of files) {
    const text = readFileSync(join(parentPath, name), 'utf8')
    if (name.startsWith('results')) {
      for (const [task, results] of Object.entries(JSON.parse(text).results))
        for (const [metric, value] of Object.entries(results)) figures.set(`${task} ${metric}`, `${value}`)
    }
    const task = /^samples_(.*?)_\d/.exec(name)?.[1]
    if (task === undefined) continue
    for (const line of text.trim().split('\n')) {
      const sample = JSON.parse(line)
      for (const [index, response] of sample.resps.entries())
        figures.set(`${task} ${sample.doc_id} ${index}`, JSON.stringify(response))
    }
  }
  return figures
}

async function startDragoman() {
  const home = join(work, 'home')
  const config = join(work, 'dragoman.json')
  const remote = { id: model, engine: 'remote', upstreamModel: model, endpoints: [{ url: server }] }
  writeFileSync(
    config,
    JSON.stringify({ server: { port: 0 }, log: { level: 'error' }, storage: 'off', builtinModel: false, models: [remote] }),
  )
  const program = join(root, 'dist', 'cli', 'program.js')
  const child = spawn(process.execPath, [program, 'serve', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DRAGOMAN_HOME: home },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0]
    if (url !== undefined) return { child, url: `${url}/v1` }
  }
  return fail('Dragoman ended before it listened')
}
