import { type Field, informational, refused, used } from '../wire/field-table.ts'

const measured = 'a model that hears measures no times'

/** Every request field of `POST /v1/audio/transcriptions` and `/translations` that Dragoman knows where a model here hears, and its treatment. */
export const transcriptionFields: readonly Field[] = [
  used('file', 'WAV, MP3 or FLAC; others are converted'),
  used('model', 'a model that hears; absent: the first one'),
  used('language', 'the language of the speech'),
  used('prompt', 'words that occur in the speech, or the text before it'),
  used(
    'response_format',
    '`json`, `text`, or `verbose_json` without segments and words; `srt` and `vtt` are refused: they are times',
  ),
  used('temperature', 'absent: 0'),
  used('stream', '`transcript.text.delta` events, of which the last is `transcript.text.done`'),
  informational('user', 'the end user'),
  refused('timestamp_granularities[]', measured, { aliases: ['timestamp_granularities'] }),
  refused('include[]', 'log-probabilities: use chat completions', { aliases: ['include'] }),
  refused('chunking_strategy', 'a long file is always divided where it is quiet', { accepts: ['auto'] }),
  refused('max_tokens', 'a transcript has no place for saying that it lacks its end'),
  refused('known_speaker_names[]', 'speakers are not told apart', { aliases: ['known_speaker_references[]'] }),
]
