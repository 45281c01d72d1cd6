/** Arguments of llama-server that Dragoman sets, or that would break its control of the server; and what to do instead. */
const reserved: readonly (readonly [instead: string, names: readonly string[]])[] = [
  ['Dragoman chooses the address', ['--host', '--port', '--reuse-port', '--api-prefix', '--ssl-key-file', '--ssl-cert-file']],
  ['Dragoman generates a private key', ['--api-key', '--api-key-file']],
  ['use `id` and `aliases`', ['--alias', '-a']],
  [
    'use `source`',
    [
      '--model',
      '-m',
      '--model-url',
      '-mu',
      '--hf-repo',
      '-hf',
      '-hfr',
      '--hf-file',
      '-hff',
      '--hf-token',
      '-hft',
      '--docker-repo',
      '-dr',
    ],
  ],
  ['it serves one model', ['--models-dir', '--models-preset', '--models-max', '--models-autoload', '--no-models-autoload']],
  ['use `mmproj`', ['--mmproj', '-mm', '--mmproj-url', '-mmu', '--no-mmproj', '--no-mmproj-auto', '--mmproj-auto']],
  ['use `contextLength`', ['--ctx-size', '-c', '--kv-unified', '-kvu', '--kv-unified-per-slot']],
  ['use `slots`', ['--parallel', '-np']],
  ['use `threads`', ['--threads', '-t']],
  ['use `gpuLayers`', ['--gpu-layers', '--n-gpu-layers', '-ngl']],
  ['use `flashAttention`', ['--flash-attn', '-fa']],
  ['use `cacheTypeK`', ['--cache-type-k', '-ctk']],
  ['use `cacheTypeV`', ['--cache-type-v', '-ctv']],
  ['use `chatTemplate`', ['--chat-template', '--chat-template-file']],
  [
    'use `draft`',
    [
      ...['--spec-draft-model', '--model-draft', '-md', '--spec-draft-hf', '-hfd', '-hfrd', '--hf-repo-draft'],
      ...['--spec-draft-n-max', '--draft', '--draft-n', '--draft-max', '--spec-draft-n-min', '--draft-min', '--draft-n-min'],
      ...['--spec-draft-p-min', '--draft-p-min', '--spec-draft-ngl', '-ngld', '--gpu-layers-draft', '--n-gpu-layers-draft'],
    ],
  ],
  ['chat requests need it', ['--jinja', '--no-jinja']],
  ['Dragoman uses these routes', ['--slots', '--no-slots', '--metrics', '--no-webui', '--webui', '--ui', '--no-ui']],
  ['a request says whether an answer is continued', ['--prefill-assistant', '--no-prefill-assistant']],
  ['conversations would be truncated silently', ['--context-shift']],
  ['the reason for a failed start would be lost', ['--log-disable', '--log-file']],
  ['the program would print something and exit', ['--help', '-h', '--usage', '--version', '--list-devices', '--completion-bash']],
]

const insteadOf = new Map(reserved.flatMap(([instead, names]) => names.map((name) => [name, instead] as const)))

const contradicted = new Map([
  ['--lora', 'use `adapters`'],
  ['--lora-scaled', 'use `adapters`'],
  ['--lora-init-without-apply', 'use `scale` 0 of `adapters`'],
  ['--cache-ram', 'prompts that were read with other adapters would be reused'],
  ['-cram', 'prompts that were read with other adapters would be reused'],
])

/** Why an argument must not be in `args`; undefined if it may. */
export function refuseArgument(argument: string): string | undefined {
  return refuse(argument, insteadOf)
}

/** Why an argument must not be in `args` of a model with `adapters`. */
export function refuseWithAdapters(argument: string): string | undefined {
  return refuse(argument, contradicted)
}

function refuse(argument: string, refused: ReadonlyMap<string, string>): string | undefined {
  const [written = ''] = argument.split('=', 1)
  // llama.cpp reads underscores in long names as hyphens.
  const name = written.startsWith('--') ? written.replaceAll('_', '-') : written
  const instead = refused.get(name)
  return instead === undefined ? undefined : `${written} must not be set here: ${instead}`
}
