// npm run seed-programs -- FOLDER [TEXT…]: runs the example programs and tests that other servers ship for their own APIs against Dragoman,
// unchanged but for addresses, and prints what came of each. FOLDER has a checkout of each server, by the names in test/seeds/programs.mjs, or
// a part of it; with texts, only programs whose paths have one. Ends with 1 when a program fails without a known reason.
// Needs python3 and what is built; only Python packages are fetched.
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { apiTokens, seeds } from '../test/seeds/programs.mjs'
import { fail, root, say } from './commands.mjs'
import { ensurePackages } from './installers/python-packages.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined || !existsSync(folder))
  fail('npm run seed-programs -- FOLDER: a folder with checkouts of the other servers')
const here = join(root, 'test', 'seeds')
const packages = ensurePackages('seed-programs', join(here, 'requirements.txt'))
const work = mkdtempSync(join(tmpdir(), 'seed-programs-'))
process.once('exit', () => rmSync(work, { recursive: true, force: true }))
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
)
const pictures = createServer((_, response) => response.setHeader('content-type', 'image/png').end(pixel))
await new Promise((resolve) => pictures.listen(0, '127.0.0.1', resolve))

let unexplained = 0
for (const seed of seeds) {
  for (const program of seed.programs) {
    if (wanted.length > 0 && !wanted.some((text) => program.path.includes(text))) continue
    if (!existsSync(join(folder, seed.folder, program.path))) {
      process.stdout.write(`${seed.folder} ${program.path}: not in ${folder}\n`)
      continue
    }
    say(`${seed.folder}: ${program.path}`)
    const server = await startServer(program)
    try {
      report(seed, program, await runProgram(seed, program, server.url))
    } finally {
      server.child.kill('SIGKILL')
    }
  }
}
pictures.close()
process.exitCode = unexplained === 0 ? 0 : 1

async function startServer({ model, aliases = ['*'], config: { server, ...besides } = {} }) {
  const models = {
    tiny: { id: 'tiny', engine: 'llama', source: join(root, 'models', 'dragoman-tiny.gguf') },
    scripted: { id: 'tiny', engine: 'fake', script: join(here, 'scripted.yaml'), toolFormat: 'hermes' },
  }
  const home = mkdtempSync(join(work, 'home-'))
  const config = {
    ...besides,
    server: { port: 0, ...server },
    log: { level: 'fatal' },
    media: { allowedAddresses: ['127.0.0.1'] },
    builtinModel: false,
    models: [{ ...models[model], aliases }],
  }
  writeFileSync(join(home, 'dragoman.yaml'), JSON.stringify(config))
  const args = [join(root, 'dist', 'cli', 'program.js'), 'serve', '--config', join(home, 'dragoman.yaml')]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, DRAGOMAN_HOME: home },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0]
    if (url !== undefined) return { child, url }
  }
  return fail('the server ended before it listened')
}

/** The outcome of each test, or of the program: `passed`, or how it failed. */
async function runProgram(seed, { path, pytest = false, env = {}, shared = [], only = '' }, url) {
  const copy = mkdtempSync(join(work, 'copy-'))
  const { port } = new URL(url)
  // What a program imports lies beside it or above it.
  mkdirSync(dirname(join(copy, path)), { recursive: true })
  cpSync(dirname(join(folder, seed.folder, path)), dirname(join(copy, path)), { recursive: true })
  for (const other of shared) cpSync(join(folder, seed.folder, other), join(copy, other), { recursive: true })
  const pictureUrl = `http://127.0.0.1:${pictures.address().port}`
  const text = readFileSync(join(copy, path), 'utf8')
    .replace(/http:\/\/(localhost|127\.0\.0\.1):\d+/g, url)
    .replace(/https:\/\/(?=[^"'\s]+\.(?:png|jpg)\b)[^/"]+/g, pictureUrl)
  writeFileSync(join(copy, path), text)
  const cwd = dirname(join(copy, path))
  writeFileSync(join(cwd, 'api_tokens.yml'), apiTokens)
  const flags = ['-p', 'seed_fixtures', '--timeout=120', '-rA', '-q', '--tb=short', '-p', 'no:cacheprovider', '--noconftest']
  const args = pytest ? ['-m', 'pytest', ...flags, `--rootdir=${copy}`, '-k', only, basename(path)] : [basename(path)]
  const { status, stdout, stderr } = await python(args, {
    cwd,
    env: {
      ...process.env,
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value === 'PORT' ? port : value])),
      PYTHONPATH: [here, join(here, 'stand_ins'), packages].join(delimiter),
      PYTHONDONTWRITEBYTECODE: '1',
      COLUMNS: '400',
      SEED_URL: url,
      SEED_MODEL: 'tiny',
    },
  })
  const { SEED_REPORTS: reports } = process.env
  if (reports !== undefined) writeFileSync(join(reports, `${seed.folder}-${basename(path)}.txt`), stdout + stderr)
  if (!pytest) {
    const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-12).join('\n')
    return new Map([[basename(path), status === 0 ? 'passed' : said]])
  }
  const lines = stdout.matchAll(/^(PASSED|FAILED|ERROR|SKIPPED) (?:\[\d+\] )?(.+?)(?: - (.*))?$/gm)
  const outcomes = [...lines].map(([, outcome, name, message]) => [
    name,
    outcome === 'PASSED' || outcome === 'SKIPPED' ? outcome.toLowerCase() : `${outcome}: ${message}`,
  ])
  return new Map(outcomes.length > 0 ? outcomes : [[basename(path), `${stdout}${stderr}`.slice(-2000)]])
}

function python(args, options) {
  return new Promise((resolve) => {
    execFile('python3', args, { ...options, timeout: 600_000, maxBuffer: 1 << 28 }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (error.code ?? 1), stdout, stderr }),
    )
  })
}

function report(seed, program, outcomes) {
  const all = [...outcomes]
  const passed = all.filter(([, outcome]) => outcome === 'passed').length
  const skipped = all.filter(([, outcome]) => outcome === 'skipped').length
  process.stdout.write(
    `${seed.folder} ${program.path}: ${passed} of ${all.length - skipped} pass, ${skipped} skipped by themselves\n`,
  )
  for (const [name, outcome] of all) {
    if (outcome === 'passed' || outcome === 'skipped') continue
    const reason = seed.reasons.find(([test]) => test.test(name))?.[1]
    if (reason === undefined) unexplained++
    process.stdout.write(`  ${name}: ${reason ?? `NO KNOWN REASON\n${outcome}`}\n`)
  }
}
