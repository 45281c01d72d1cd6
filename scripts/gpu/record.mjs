// npm run gpu-record -- [--model FILE] [--draft FILE] [--minutes N] [--name MACHINE] [--cpu]: everything that a machine with a GPU is asked for, in one run of
// 12 minutes: doctor, the GPU tests, decoding, prompts, drafts, a picture, and eight workers. Needs `npm run gpu -- cuda|vulkan` first; takes what
// `npm run llama-server` and `npm run senses` have made. Writes bench/results/DATE-gpu-MACHINE.md, also of what failed or was ended by its time.
// With --cpu, the same steps are tried on a machine without a GPU, and the record is only printed.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, hostname, release, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { capture, root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'

/** The last characters of a step's output that are recorded. */
const keptCharacters = 12_000
const killAfterMs = 5000

/** The steps with their shares of the time; the rest of one that ends early is for the next ones. */
export function stepsOf({ model, draft, cpu = false }) {
  const files = model === undefined ? [] : ['--model', model]
  const bench = ['npm', ['run', '-s', 'bench', '--', '--quick', ...(cpu ? [] : ['--gpu']), ...files]]
  const more = (...args) => [bench[0], [...bench[1], ...args]]
  return [
    { name: 'doctor', share: 1, command: ['npm', ['run', '-s', 'dragoman', '--', 'doctor']] },
    {
      name: 'GPU tests',
      share: 5,
      command: ['env', [`DRAGOMAN_TEST_GPU=${cpu ? 0 : 1}`, 'npm', 'run', '-s', 'gpu-tests']],
    },
    { name: 'decoding and prompts', share: 7, command: more('--only', 'decoding,prompts', '--minutes', '1.5') },
    model === undefined
      ? { name: 'drafts', skipped: 'without --model' }
      : {
          name: 'drafts',
          share: 3,
          command: ['npm', ['run', '-s', 'bench:speculation', '--', model, ...(draft === undefined ? [] : [draft])]],
        },
    { name: 'a picture', share: 3, command: ['npx', ['tsx', 'bench/media/pictures.ts', '--rounds', '3']] },
    {
      name: 'eight workers',
      share: 5,
      command: ['npm', ['run', '-s', 'bench', '--', '--quick', '--only', 'gateways', '--workers', '8']],
    },
  ]
}

/** Runs steps one after another, and ends each with all of its processes when its share of the time is over. */
export async function runSteps(steps, { limitMs, onStep = () => undefined }) {
  const endMs = performance.now() + limitMs
  const results = []
  for (const [index, step] of steps.entries()) {
    if (step.command === undefined) {
      results.push({ ...step, outcome: `skipped: ${step.skipped}`, seconds: 0, output: '' })
      continue
    }
    const shares = steps.slice(index).reduce((sum, { share = 0 }) => sum + share, 0)
    onStep(step.name)
    const stepMs = ((endMs - performance.now()) * step.share) / shares
    results.push({ ...step, ...(await runStep(step.command, stepMs)) })
  }
  return results
}

function runStep([command, args], limitMs) {
  const startedMs = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, NO_COLOR: '1' },
  })
  let output = ''
  let isOver = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = `${output}${text}`.slice(-keptCharacters)
    })
  }
  const end = (signal) => {
    try {
      process.kill(-child.pid, signal)
    } catch {
      // It has ended meanwhile.
    }
  }
  const timer = setTimeout(() => {
    isOver = true
    end('SIGTERM')
  }, limitMs)
  const killer = setTimeout(() => end('SIGKILL'), limitMs + killAfterMs)
  return new Promise((resolve) => {
    const finish = (outcome) => {
      clearTimeout(timer)
      clearTimeout(killer)
      // What its processes have left running would spoil the next step.
      end('SIGKILL')
      resolve({ outcome, seconds: Math.round((performance.now() - startedMs) / 1000), output })
    }
    child.once('error', (error) => finish(`not started: ${error.message}`))
    child.once('close', (code) =>
      finish(
        isOver ? `ended after its time, ${Math.round(limitMs / 1000)} s` : code === 0 ? 'passed' : `failed with code ${code}`,
      ),
    )
  })
}

/** The record of a run, in Markdown. */
export function recordOf(results, { date, machine, commit, command }) {
  const rows = results.map(({ name, outcome, seconds }) => `| ${name} | ${outcome} | ${seconds} s |`)
  const outputs = results
    .filter(({ output }) => output !== '')
    .flatMap(({ name, output }) => [`## ${name}`, '', '```', output.trim(), '```', ''])
  return [
    `# A machine with a GPU, ${date}`,
    '',
    `- Machine: ${machine}`,
    `- Commit: ${commit}`,
    `- Command: \`${command}\``,
    '',
    '| step | outcome | time |',
    '| ---- | ------- | ---- |',
    ...rows,
    '',
    ...outputs,
  ].join('\n')
}

async function main() {
  await ensureNode()
  const { values } = parseArgs({
    options: {
      model: { type: 'string' },
      draft: { type: 'string' },
      cpu: { type: 'boolean', default: false },
      minutes: { type: 'string', default: '12' },
      name: { type: 'string', default: hostname() },
    },
  })
  // Otherwise the first step would be ended in the midst of it.
  const built = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: 'inherit' })
  if (built.status !== 0) throw new Error('the build failed')
  const results = await runSteps(stepsOf(values), {
    limitMs: Number(values.minutes) * 60_000,
    onStep: (name) => process.stderr.write(`${name}\n`),
  })
  const date = new Date().toISOString().slice(0, 10)
  const asked = ['--query-gpu=name,driver_version,memory.total', '--format=csv,noheader']
  const gpu = spawnSync('nvidia-smi', asked, { encoding: 'utf8' }).stdout?.trim().replaceAll('\n', '; ')
  const processor = `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1e9)} GB, ${process.platform} ${release()}`
  const record = recordOf(results, {
    date,
    machine: [gpu, processor].filter(Boolean).join('; '),
    commit: capture('git', ['rev-parse', '--short', 'HEAD']).output.trim(),
    command: ['npm run gpu-record', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' '),
  })
  process.exitCode = results.every(({ outcome }) => outcome === 'passed' || outcome.startsWith('skipped')) ? 0 : 1
  if (values.cpu) return void process.stdout.write(record)
  const file = join(root, 'bench', 'results', `${date}-gpu-${values.name}.md`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, record)
  process.stdout.write(`${file}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
