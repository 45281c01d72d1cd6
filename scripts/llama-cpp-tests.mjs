// npm run llama-cpp-tests [-- FILE…]: runs the tests of llama.cpp's server, which come with node-llama-cpp, against a llama-server of the same
// release and against Dragoman, both on models that stand in for those of the tests, and prints the tests that end differently.
// With BLACK_BOX_REPORTS, a folder, what pytest prints is kept there. Needs git, python3 and a built llama-server; only Python packages are fetched.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { capture, fail, root, say } from './commands.mjs'
import { ensurePackages } from './installers/python-packages.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const here = join(root, 'test', 'llama-cpp')
const packages = ensurePackages('llama-cpp-tests', join(here, 'requirements.txt'))
const binary = must('node', [join(root, 'scripts', 'llama-server.mjs')]).trim()
const work = mkdtempSync(join(tmpdir(), 'llama-cpp-tests-'))
process.once('exit', () => rmSync(work, { recursive: true, force: true }))

const sources = join(work, 'sources')
must('git', ['clone', '--quiet', join(root, 'node_modules', 'node-llama-cpp', 'llama', 'gitRelease.bundle'), sources])
const tests = join(sources, 'tools', 'server', 'tests')
const models = join(work, 'models')
mkdirSync(models)
must('npx', ['tsx', join(here, 'write-models.ts'), models])
const command = join(work, 'llama-server')
// The tests end what they started: a process of ours between them would leave the server behind.
writeFileSync(
  command,
  `#!/bin/bash\nmapfile -t words < <("${process.execPath}" "${join(here, 'as-llama-server.mjs')}" "$@")\nexec "\${words[@]}"\n`,
)
chmodSync(command, 0o755)

const wanted = process.argv.slice(2)
const theirs = judge(binary)
const ours = judge('dragoman')
const passed = (results) => [...results.values()].filter((outcome) => outcome === 'passed').length
process.stdout.write(`${theirs.size} tests: llama-server passes ${passed(theirs)}, Dragoman ${passed(ours)}\n`)
for (const [name, outcome] of theirs) {
  if (outcome !== ours.get(name))
    process.stdout.write(`${name}: llama-server ${outcome}, Dragoman ${ours.get(name) ?? 'did not run it'}\n`)
}

/** The outcome of each test, by its name. */
function judge(server) {
  const flags = ['-p', 'black_box', '--timeout=120', '-rA', '-q', '--tb=line', '-p', 'no:cacheprovider']
  say(`running the tests against ${server}`)
  const { stdout, stderr, status } = spawnSync(
    'python3',
    ['-m', 'pytest', ...flags, ...(wanted.length > 0 ? wanted : ['unit'])],
    {
      cwd: tests,
      encoding: 'utf8',
      maxBuffer: 1 << 30,
      env: {
        ...process.env,
        PYTHONPATH: [here, tests, packages].join(delimiter),
        LLAMA_SERVER_BIN_PATH: command,
        BLACK_BOX_SERVER: server,
        BLACK_BOX_MODELS: models,
        BLACK_BOX_LLAMA_SERVER: binary,
        DRAGOMAN_HOME: join(work, 'home'),
      },
    },
  )
  if (status === null || status > 1) fail(`pytest failed:\n${stderr.slice(-2000)}`)
  const { BLACK_BOX_REPORTS: reports } = process.env
  if (reports !== undefined) writeFileSync(join(reports, `${server === 'dragoman' ? server : 'llama-server'}.txt`), stdout)
  const lines = stdout.matchAll(/^(PASSED|FAILED|ERROR|SKIPPED) (unit\/.+?)(?: - .*)?$/gm)
  return new Map([...lines].map(([, outcome, name]) => [name, outcome.toLowerCase()]))
}

function must(program, args) {
  const { status, stdout, output } = capture(program, args)
  if (status !== 0) fail(`${program} failed:\n${output.slice(-2000)}`)
  return stdout
}
