import { fine } from '../answers.ts'
import { type Check, finish, has, status, text, upstreamGot } from '../checks.ts'
import {
  better,
  changes,
  complete,
  differs,
  type Group,
  over,
  type Row,
  refuses,
  sent,
  shownBy,
  tiny,
  tinyComplete,
  works,
} from '../row.ts'
import { alth, draws, kinds, loops, noWords, onlyWords, positive, report } from './tabby-steps.ts'

const endOfTurn = 2559
/** A completion that ends at once, unless something keeps it from that. */
const ended = (fields: object, ...checks: readonly Check[]) =>
  tinyComplete({ prompt: 'hello', logit_bias: { [endOfTurn]: 100 }, ...fields }, ...checks)
/** Four letters at random. */
const letters = (fields: object, ...checks: readonly Check[]) =>
  draws({ n: 1, max_tokens: 24, temperature: 5, allowed_tokens: [32, 33, 34, 35], ...fields }, ...checks)
const loop = /^(The){24}$/

const lengths: readonly Row[] = [
  works(
    50,
    '`min_tokens`',
    ended({}, has('usage.completion_tokens', 0)),
    ended({ min_tokens: 3 }, has('usage.completion_tokens', 3)),
  ),
  works(51, '`min_tokens` for models of other servers that have it', over(fine, { min_tokens: 3 }, upstreamGot('min_tokens', 3))),
  works(
    53,
    'stop token ids in `stop`',
    tinyComplete({ prompt: 'x', logit_bias: { 1504: 100 }, stop: ['zzz', 5] }, text('althalthalthalth'), finish('length')),
    tinyComplete({ prompt: 'x', logit_bias: { 1504: 100 }, stop: ['zzz', alth] }, text(''), finish('stop')),
  ),
  works(71, '`ban_eos_token`', ended({ ban_eos_token: true }, has('usage.completion_tokens', 4), finish('length'))),
  works(
    83,
    '`loop_detect_window`',
    loops({}, text(loop)),
    loops({ loop_detect_window: 8 }, text(/^(The){2,9}$/), finish('stop')),
  ),
]

const bans: readonly Row[] = [
  works(
    54,
    '`banned_strings`',
    draws({ top_k: 1, banned_strings: ['ALTH', 'report'] }, onlyWords('s')),
    loops({ banned_strings: ['thethe'] }, text(/^(?!.*TheThe)./)),
  ),
  works(
    55,
    '`banned_tokens`, `custom_token_bans`',
    draws({ top_k: 1, banned_tokens: [alth] }, onlyWords('report')),
    draws({ top_k: 1, custom_token_bans: `${alth}, ${report},` }, onlyWords('s')),
  ),
  works(56, '`allowed_tokens`', draws({ allowed_tokens: [alth, report] }, onlyWords('alth', 'report'))),
  works(
    73,
    '`logit_bias`',
    draws({ logit_bias: { 32: 100 } }, onlyWords('A')),
    draws({ logit_bias: { 32: -100 } }, noWords('A')),
  ),
]

const temperatures: readonly Row[] = [
  works(
    57,
    '`temperature` up to 10',
    draws({ temperature: 0 }, onlyWords('alth')),
    draws({ temperature: 0.1 }, kinds(2, 6)),
    draws({ temperature: 10 }, kinds(22), noWords('alth', 'report', 's')),
    refuses(tiny({ temperature: 11 }), 'temperature'),
  ),
  works(
    58,
    '`temperature_last`',
    draws({ temperature: 3, min_p: 0.7, temperature_last: true }, onlyWords('alth', 'report', 's')),
    draws({ temperature: 3, min_p: 0.7, temperature_last: false }, kinds(6)),
  ),
  works(
    59,
    '`min_temp`, `max_temp`, `temp_exponent`',
    draws({ min_temp: 0.1, max_temp: 0.2 }, kinds(2, 5)),
    draws({ min_temp: 0.1, max_temp: 2 }, kinds(16)),
    draws({ min_temp: 0.1, max_temp: 2, temp_exponent: 10 }, kinds(2, 5)),
  ),
  works(
    60,
    '`smoothing_factor`, `smoothing_curve`',
    draws({ smoothing_factor: 5 }, onlyWords('alth', 'report', 's')),
    draws({ smoothing_factor: 5, smoothing_curve: 3 }, onlyWords('alth', 'report', 's', 'co')),
  ),
]

const cuts: readonly Row[] = [
  works(
    61,
    '`top_a`, `skew`, `tfs`',
    draws({ logit_bias: { [alth]: 3 } }, kinds(5)),
    draws({ logit_bias: { [alth]: 3 }, top_a: 1 }, onlyWords('alth')),
    draws({ tfs: 0.5 }, onlyWords('alth', 'report', 's')),
    draws({ skew: -2 }, kinds(2, 10)),
    draws({ skew: 2 }, noWords('alth', 'report', 's')),
  ),
  works(
    62,
    '`typical`',
    draws({ typical: 0.3 }, noWords('alth', 'report', 's')),
    draws({ typical_p: 0.3 }, noWords('alth', 'report', 's')),
  ),
  works(
    63,
    '`top_k`, `top_p`, `min_p`',
    draws({}, kinds(16)),
    draws({ top_k: 2 }, onlyWords('alth', 'report')),
    draws({ top_p: 0.1 }, onlyWords('alth', 'report')),
    draws({ min_p: 0.7 }, onlyWords('alth', 'report', 's')),
  ),
  works(
    64,
    '`xtc_probability`, `xtc_threshold`',
    draws({ top_k: 3 }, onlyWords('alth', 'report', 's')),
    draws({ top_k: 3, xtc_probability: 1, xtc_threshold: 0.01 }, onlyWords('s')),
    draws({ top_k: 3, xtc_probability: 1, xtc_threshold: 0.5 }, onlyWords('alth', 'report', 's')),
  ),
]

const penalties: readonly Row[] = [
  better(
    65,
    ['penalties of 0 and more', '-2 to 2'],
    letters({}, text(/^(?!.*(.)\1{9})/)),
    letters({ frequency_penalty: -2 }, text(/(.)\1{9}$/)),
    loops({ frequency_penalty: 2 }, text(/^The(?!.*(The){5})/)),
    changes(letters({}), { presence_penalty: -2 }),
    refuses(tiny({ presence_penalty: -3 }), 'presence_penalty'),
  ),
  works(
    66,
    '`repetition_penalty`, `penalty_range`',
    loops({ repetition_penalty: 1.5 }, text(/^ The(The){23}$/)),
    loops({ repetition_penalty: 1.5, penalty_range: 2 }, text(/^( The(The){2}){8}$/)),
  ),
  works(
    67,
    '`repetition_decay`',
    loops({ repetition_penalty: 1.5, penalty_range: 2, repetition_decay: 1 }, text(/^( The(The){3}){6}$/)),
  ),
  works(
    68,
    'DRY: five fields',
    loops({ dry_multiplier: 2 }, text(/^(The){4} The/)),
    loops({ dry_multiplier: 2, dry_base: 4 }, text(/^(The){3} The/)),
    loops({ dry_multiplier: 2, dry_allowed_length: 6 }, text(/^(The){8} The/)),
    loops({ dry_multiplier: 2, dry_range: 4 }, text(loop)),
    loops({ dry_multiplier: 2, dry_sequence_breakers: '["The"]' }, text(loop)),
  ),
]

const adapting: readonly Row[] = [
  works(
    69,
    '`mirostat_mode`, `mirostat_tau`, `mirostat_eta`',
    draws({ mirostat_mode: 2, mirostat_tau: 1 }, onlyWords('alth')),
    draws({ mirostat_mode: 2, mirostat_tau: 8 }, kinds(12)),
    draws({ mirostat_mode: 1, mirostat_tau: 1 }, kinds(1, 4)),
  ),
  works(
    82,
    '`adaptive_target`, `adaptive_decay`; below 0 is off',
    draws({ min_p: 0.3 }, kinds(7)),
    draws({ min_p: 0.3, adaptive_target: 0.9 }, kinds(2, 5)),
    draws({ min_p: 0.3, adaptive_target: -0.01 }, kinds(7)),
  ),
  works(
    84,
    '`cfg_scale`, `negative_prompt`, `guidance_scale`',
    draws({ min_p: 0.3, cfg_scale: 3, negative_prompt: '[65]' }, kinds(7)),
    draws({ min_p: 0.3, cfg_scale: 3, negative_prompt: 'hello' }, onlyWords('report', 'co')),
    draws({ guidance_scale: 3 }, kinds(2, 16)),
  ),
  works(
    85,
    'speculation with n-grams or a draft model: `speculation`, `draft`',
    shownBy('e2e/engines/speculation-llama.test.ts', 'that is the model itself drafts what the model says'),
    shownBy('e2e/engines/speculation-llama.test.ts', 'counts what it drafted, and what the model chose too'),
  ),
]

const texts: readonly Row[] = [
  differs(
    70,
    [
      '`add_bos_token`',
      'true, which is as the model has it; false goes to servers that have the field, and is refused elsewhere: token ids get no first token',
    ],
    tinyComplete({ temperature: 0 }, text('lamplamplamplamp')),
    tinyComplete({ temperature: 0, add_bos_token: true }, text('lamplamplamplamp')),
    sent({ upstream: fine }, complete({ model: 'vllm', add_bos_token: false }, upstreamGot('add_special_tokens', false))),
    complete({ add_bos_token: false }, status(400, /add_bos_token/)),
  ),
  works(
    72,
    '`token_healing`',
    tinyComplete({ prompt: 'Hello, hello. Hel', temperature: 0 }, text(/^(?!lo)/)),
    tinyComplete({ prompt: 'Hello, hello. Hel', temperature: 0, token_healing: true }, text(/^lo\b/)),
  ),
  differs(
    86,
    ['`skip_special_tokens: false`', 'in completions; in a chat they are its structure here, and a 400 says so'],
    tinyComplete({ skip_special_tokens: false, logit_bias: { 2558: 100 }, max_tokens: 2 }, text('<|im_start|><|im_start|>')),
    tinyComplete({ logit_bias: { 2558: 100 }, max_tokens: 2 }, text(''), has('usage.completion_tokens', positive)),
    complete({ model: 'scripted', skip_special_tokens: true }, text('hello')),
    tiny({ skip_special_tokens: false }, status(400, /skip_special_tokens/)),
  ),
]

/** What decides which token is next, and when the output ends. */
export const tabbySamplers: readonly Group[] = [
  { title: 'lengths and ends', rows: lengths },
  { title: 'bans and biases', rows: bans },
  { title: 'temperatures', rows: temperatures },
  { title: 'samplers that remove tokens', rows: cuts },
  { title: 'penalties', rows: penalties },
  { title: 'samplers that learn, guidance, drafts', rows: adapting },
  { title: 'the first and the last token', rows: texts },
]
