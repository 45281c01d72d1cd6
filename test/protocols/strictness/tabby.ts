import type { StrictnessTable } from './row.ts'

/** How tabbyAPI's loads are read. */
export const tabbyLoadStrictness: StrictnessTable = {
  title: 'tabbyAPI, POST /v1/model/load',
  base: { model_name: 'm' },
  rows: [
    { what: 'no `model_name`', sample: { model_name: null }, outcome: 'refused', param: 'model_name', note: '' },
    { what: 'an empty `model_name`', sample: { model_name: '' }, outcome: 'refused', param: 'model_name', note: '' },
    {
      what: '`name` instead of `model_name`',
      sample: { model_name: null, name: 'other' },
      outcome: 'healed',
      becomes: { name: 'other' },
      note: 'the older spelling',
    },
    {
      what: '`max_seq_len` -1 or 0',
      sample: { max_seq_len: -1 },
      outcome: 'tolerated',
      becomes: { settings: {} },
      note: 'as configured',
    },
    {
      what: 'an empty text in an optional field, or a number as text',
      sample: { max_seq_len: '512', cache_mode: '', prompt_template: '', draft_model: { draft_model_name: '' } },
      outcome: 'healed',
      becomes: { settings: { contextLength: 512 } },
      note: 'as forms send what is not filled in',
    },
    { what: 'a text that is no number', sample: { max_seq_len: '5k' }, outcome: 'refused', param: 'max_seq_len', note: '' },
    {
      what: '`cache_mode` in small letters, or as bits',
      sample: { cache_mode: 'q8, 4' },
      outcome: 'healed',
      becomes: { settings: { cacheTypeK: 'q8_0', cacheTypeV: 'q4_0' } },
      note: 'keys and values apart',
    },
    {
      what: 'a `cache_mode` that llama.cpp does not have',
      sample: { cache_mode: 'Q6' },
      outcome: 'healed',
      becomes: { settings: { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0' } },
      note: 'the next larger one',
    },
    { what: 'an unknown `cache_mode`', sample: { cache_mode: 'Q5' }, outcome: 'refused', param: 'cache_mode', note: '' },
    {
      what: 'a `backend`',
      sample: { backend: 'exllamav3' },
      outcome: 'refused',
      param: 'backend',
      note: 'the configuration has it',
    },
    {
      what: '`rope_alpha` "auto"',
      sample: { rope_alpha: 'auto', rope_scale: 1 },
      outcome: 'tolerated',
      note: 'what the file of the model says',
    },
    {
      what: 'a `draft_model` with other rope values',
      sample: { draft_model: { draft_model_name: 'd', draft_rope_scale: 2 } },
      outcome: 'refused',
      param: 'draft_model.draft_rope_scale',
      note: '',
    },
    {
      what: 'a `draft` for a `draft_model`',
      sample: { draft: { draft_model_name: 'd' } },
      outcome: 'tolerated',
      becomes: { settings: { draftModel: 'd' } },
      note: 'tabbyAPI takes both names',
    },
    {
      what: 'a `draft_model` with an unknown field',
      sample: { draft_model: { draft_model_name: 'd', mood: 'good' } },
      outcome: 'tolerated',
      becomes: { settings: { draftModel: 'd' } },
      ignored: ['draft_model.mood'],
      note: '',
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}

/** How tabbyAPI's loads of adapters are read. */
export const tabbyLoraStrictness: StrictnessTable = {
  title: 'tabbyAPI, POST /v1/lora/load',
  base: { loras: [{ name: 'a' }] },
  rows: [
    {
      what: 'no adapters',
      sample: { loras: [] },
      outcome: 'refused',
      param: 'loras',
      note: '`POST /v1/lora/unload` removes all',
    },
    { what: 'an adapter without a name', sample: { loras: [{}] }, outcome: 'refused', param: 'loras[0].name', note: '' },
    {
      what: 'no `scaling`',
      sample: { loras: [{ name: 'a', scaling: null }] },
      outcome: 'tolerated',
      becomes: { adapters: [{ name: 'a', scale: 1 }] },
      note: '1',
    },
    {
      what: '`scaling` as text',
      sample: { loras: [{ name: 'a', scaling: '0.5' }] },
      outcome: 'healed',
      becomes: { adapters: [{ name: 'a', scale: 0.5 }] },
      note: '',
    },
    {
      what: 'a negative `scaling`',
      sample: { loras: [{ name: 'a', scaling: -1 }] },
      outcome: 'tolerated',
      becomes: { adapters: [{ name: 'a', scale: -1 }] },
      note: 'takes away what the adapter adds',
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}

/** How tabbyAPI's downloads are read. */
export const tabbyDownloadStrictness: StrictnessTable = {
  title: 'tabbyAPI, POST /v1/download',
  base: { repo_id: 'owner/repository' },
  rows: [
    { what: 'a path as `repo_id`', sample: { repo_id: '../models' }, outcome: 'refused', param: 'repo_id', note: '' },
    { what: 'a `revision` with dots', sample: { revision: '../main' }, outcome: 'refused', param: 'revision', note: '' },
    {
      what: 'no `include` and no `exclude`',
      sample: { include: null, exclude: [] },
      outcome: 'tolerated',
      becomes: { name: 'hf:owner/repository' },
      note: 'one file: the best quantization that fits the memory',
    },
    {
      what: 'a pattern with a set of characters',
      sample: { include: ['*Q[48]*'] },
      outcome: 'refused',
      param: 'include',
      note: '`*` and `?` are wildcards',
    },
    { what: 'a `timeout` of 0', sample: { timeout: 0 }, outcome: 'refused', param: 'timeout', note: '' },
    { what: '`repo_type` "model"', sample: { repo_type: 'model' }, outcome: 'tolerated', note: 'the only one' },
    { what: 'a `folder_name`', sample: { folder_name: 'mine' }, outcome: 'refused', param: 'folder_name', note: '' },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}
