// npm run doctor-dev: what the tests of this checkout can use on this machine, which tests are skipped without it, and how to get it. Only what
// every change needs ends it with 1.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root } from './commands.mjs'
import { version } from './node.mjs'

const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const cache = join(root, '.cache')
const folders = ['/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)]
const namesIn = (folder) => (existsSync(folder) ? readdirSync(folder) : [])
const has = (program) => folders.some((folder) => existsSync(join(folder, program)))
const hasTool = (prefix) => namesIn(tools).some((name) => name.startsWith(prefix))
const works = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const debian = (name) => `Debian: apt-get install ${name}`
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** What a check is about, whether it is there, which tests need it, and how to get it. */
const checks = [
  ['needed for every change'],
  [
    `Node.js ${engines.node}`,
    major > 22 || (major === 22 && minor >= 13) || namesIn(cache).includes(`node-${version}`),
    'everything',
    'npm start and the other scripts fetch one',
  ],
  ['dependencies', existsSync(join(root, 'node_modules', 'vitest')), 'everything', 'npm ci --ignore-scripts'],
  ['git', has('git'), 'everything', debian('git')],
  ['programs of this machine'],
  [
    'bubblewrap',
    works('bwrap', '--ro-bind', '/', '/', '--unshare-user', 'true'),
    'test/e2e/tools, install.sh, images',
    debian('bubblewrap'),
  ],
  ['Python 3', has('python3'), 'wheels, conversations in a terminal, an MCP server', debian('python3 python3-pip')],
  ['PostgreSQL', namesIn('/usr/lib/postgresql').length > 0, 'the store in PostgreSQL', debian('postgresql')],
  ['ffmpeg', has('ffmpeg'), 'conversion of media', debian('ffmpeg')],
  ['Chromium', has('chromium'), 'test/e2e/page, /docs, SillyTavern', debian('chromium')],
  ['nginx', has('nginx'), 'behind a reverse proxy', debian('nginx-light')],
  ['dnsmasq', has('dnsmasq'), 'servers found by DNS', debian('dnsmasq-base')],
  ['tmux', has('tmux'), 'the terminal', debian('tmux')],
  ['systemd-analyze', has('systemd-analyze'), 'deploy/systemd', debian('systemd')],
  ['kubectl, ruby', has('kubectl') && has('ruby'), 'rendering deploy/kubernetes, the formula', 'optional'],
  ['git, cmake, C++ compiler', has('cmake') && has('c++'), 'building the library and llama-server', debian('cmake g++')],
  ['fetched by scripts'],
  [
    'default model',
    namesIn(join(process.env.DRAGOMAN_HOME ?? join(cache, 'dragoman'), 'models')).length > 0,
    'a real model',
    'DRAGOMAN_HOME=.cache/dragoman npm run -s dragoman -- pull default',
  ],
  ['library for pictures, sound', namesIn(join(cache, 'senses')).length > 0, 'both on the embedded engine', 'npm run senses'],
  ['llama-server', hasTool('llama-server'), 'the llama-server engine', 'npm run llama-server'],
  [
    'other versions of Node.js',
    ['22', '26'].every((one) => namesIn(cache).some((name) => name.startsWith(`node-${one}.`))),
    'test/e2e/install',
    'npm run other-nodes',
  ],
  ['what a package needs', hasTool('packed-') && hasTool('npm-'), 'npm, npx, install.sh and images', 'npm run packed'],
  ['judges of deploy/', hasTool('deploy-tools'), 'test/deploy.test.ts', 'npm run deploy-tools'],
  ['Python clients', hasTool('python-clients'), 'test/e2e/clients', 'npm run python-clients'],
  ['coding agents', hasTool('agent-'), 'test/agents', 'npm run agents'],
  ['routers', hasTool('smg-'), 'test/e2e/engines/routers.test.ts', 'npm run routers'],
  ['MCP servers', hasTool('mcp'), 'test/e2e/server/mcp-*.test.ts', 'npm run mcp-servers'],
  ['judges of /openapi.json', hasTool('openapi-client'), 'test/e2e/server/openapi.test.ts', 'npm run openapi-tools'],
  ["LM Studio's SDK", hasTool('lmstudio-'), 'test/e2e/clients/lmstudio-sdk.test.ts', 'npm run lmstudio'],
  ['Next.js', hasTool('nextjs-'), 'test/e2e/guides/nextjs.test.ts', 'npm run nextjs'],
  ['SillyTavern', hasTool('sillytavern'), 'test/sillytavern', 'npm run sillytavern'],
]

const missing = []
let needed = false
for (const [name, found, use, how] of checks) {
  if (found === undefined) {
    console.log(`\n${name}`)
    needed = name === 'needed for every change'
    continue
  }
  if (needed && !found) missing.push(name)
  const lacks = `${needed ? 'needed by' : 'skipped:'} ${use}; ${how}`
  console.log(`${found ? '✓' : needed ? '✗' : '–'} ${name.padEnd(26)} ${found ? '' : lacks}`.trimEnd())
}
console.log(missing.length === 0 ? '\nReady: npm run watch, or npm test for everything.' : `\nMissing: ${missing.join(', ')}.`)
process.exitCode = missing.length === 0 ? 0 : 1
