"""Names what CONTROL may hold and a run does not use, in both styles: what concerns DL_POLY's output, files, arrays and
tolerances alone. Anything else that is not understood is refused.
"""

_NEW_STYLE = """
    adf_calculate adf_frequency adf_precision analyse_all analyse_angles analyse_bonds analyse_dihedrals
    analyse_frequency analyse_frequency_angles analyse_frequency_bonds analyse_frequency_dihedrals
    analyse_frequency_inversions analyse_inversions analyse_max_dist analyse_num_bins analyse_num_bins_angles
    analyse_num_bins_bonds analyse_num_bins_dihedrals analyse_num_bins_inversions coord_calculate coord_interval
    coord_ops coord_start correlation_block_points correlation_blocks correlation_dump_frequency
    correlation_observable correlation_window currents_calculate defects_backup defects_calculate defects_distance
    defects_interval defects_start density_variance dftb_test displacements_calculate displacements_distance
    displacements_interval displacements_start ensemble_barostat_friction ensemble_dpd_drag ensemble_dpd_order
    ensemble_thermostat_softness evb_num_ff ewald_kvec ewald_kvec_spacing ewald_nsplines heat_flux impact_direction
    impact_time initial_minimum_separation io_file_cor io_file_historf io_file_history io_file_msd io_file_output
    io_file_popevb io_file_rdf io_file_revcon io_file_revive io_file_revold io_file_setevb io_file_statis
    io_file_tabang io_file_tabbnd io_file_tabdih io_file_tabeam io_file_tabinv io_rdf_yaml io_read_ascii_revold
    io_read_batch_size io_read_buffer_size io_read_error_check io_read_method io_read_readers io_statis_yaml
    io_units_charge io_units_emf io_units_energy io_units_force io_units_length io_units_mass io_units_power
    io_units_pressure io_units_scheme io_units_surface_tension io_units_time io_units_velocity io_write_ascii_revive
    io_write_batch_size io_write_buffer_size io_write_error_check io_write_method io_write_netcdf_format
    io_write_sorted io_write_writers minimisation_frequency minimisation_step_length minimisation_tolerance
    msd_calculate msd_frequency msd_print msd_start output_energy padding plumed_input plumed_log plumed_precision
    plumed_restart polarisation_thole print_frequency print_level print_probability_distribution
    print_topology_info pseudo_thermostat_temperature pseudo_thermostat_width quaternion_max_iter quaternion_tol
    random_seed rdf_binsize rdf_calculate rdf_error_analysis rdf_error_analysis_blocks rdf_frequency rdf_print
    record_equilibration replay_calculate_forces rlx_cgm_step rlx_tol shake_max_iter shake_tolerance spme_kvec
    spme_kvec_spacing spme_nsplines stack_size strict_checks subcell_threshold time_close time_job timer_depth
    timer_per_mpi timer_yaml_file timestep_variable_max_delta timestep_variable_max_dist
    timestep_variable_min_dist title traj_calculate traj_key traj_start ttm_boundary_condition
    ttm_boundary_heat_flux ttm_boundary_xy ttm_com_correction ttm_dens ttm_dens_model ttm_diff ttm_diff_model
    ttm_elec_cond ttm_elec_cond_model ttm_fermi_temp ttm_fluence ttm_heat_cap ttm_heat_cap_model ttm_laser_type
    ttm_metal ttm_min_atoms ttm_num_elec_cells ttm_num_ion_cells ttm_oneway ttm_penetration_depth ttm_redistribute
    ttm_spatial_cutoff ttm_spatial_dist ttm_spatial_sigma ttm_stats_frequency ttm_stopping_power ttm_temp_term
    ttm_temporal_cutoff ttm_temporal_dist ttm_temporal_duration ttm_time_offset ttm_traj_frequency ttm_variable_ep
    unsafe_comms vaf_averaging vaf_binsize vaf_calculate vaf_frequency vaf_print write_per_particle zden_binsize
    zden_calculate zden_frequency zden_print
"""
_OLD_STYLE = """
    adf all ana app_test binsize close collect coord currents defe delr densvar disp dump finish heat_flux integrator
    io job l_dis l_eng l_fast l_his l_print l_rin l_rout l_scr l_tim l_tor l_trm maxdis mindis msdtmp mxquat mxshak
    mxstep pad pp_dump prim print quater rdf rlxtol rpad seed shake stack subcell time_depth time_per_mpi vaf yml_rdf
    yml_statis zden
"""

#: keys of the new style (DL_POLY 5.1, and names of 5.0 that it no longer has)
UNUSED = frozenset(_NEW_STYLE.split())
#: first letters of directives of the old style (DL_POLY 2 to 5)
UNUSED_STARTS = tuple(_OLD_STYLE.split())
