package io.phantoms.spark.source.export;

import io.phantoms.spark.source.export.Kind.Register;

/** What a record of options tells of other records: how packets were sampled, and when the exporter started. */
final class OptionNotes {
  private OptionNotes() {}

  /**
   * Notes what it says.
   *
   * @param option the record, and {@code decoder} what has just read it
   */
  static void take(FlowRecord option, RecordDecoder decoder, Template template, Templates templates, Domain domain) {
    long interval = option.number(Flows.SAMPLING);
    if (interval == 0) {
      interval = decoder.ownSampling();
    }
    long sampler = decoder.register(Register.SAMPLER);
    if (interval > 0 && (sampler >= 0 || template.scope != OptionScope.PART)) {
      boolean system = template.scope == OptionScope.SYSTEM;
      templates.sampling(domain, sampler, decoder.register(Register.INTERFACE), interval, system);
    }
    // 0 is how an exporter says that it does not know.
    if (decoder.register(Register.INIT_MILLIS) > 0) {
      domain.initMillis(decoder.register(Register.INIT_MILLIS));
    }
  }
}
